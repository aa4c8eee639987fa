-- ARGV: now, request_id, digest.
local now, request_id, digest = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if missing() then
  return {'missing'}
end
local known = replayed(request_id, digest)
if known == false then
  return {'reused'}
end
if known == nil then
  if not ended() then
    call('HSET', META, 'ended_at', text(now))
    changed(now)
  end
  remember(request_id, digest, '')
  expire_parts(call('PTTL', META))
end
return {'ok', state()}
