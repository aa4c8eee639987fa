-- ARGV: now, request_id, digest, then the fields of the state.
local now, request_id, digest = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if not missing() then
  local known = replayed(request_id, digest)
  if known then
    return {'ok', state()}
  end
  return {known == false and 'reused' or 'exists'}
end
-- Parts of an expired predecessor may still be there for a second.
call('UNLINK', MESSAGES, PINNED, SCRATCH, REQUESTS, ORDER)
for i = 4, #ARGV, 2 do
  call('HSET', META, ARGV[i], ARGV[i + 1])
end
remember(request_id, digest, '')
restart_time(now)
return {'ok', state()}
