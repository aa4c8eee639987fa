-- ARGV: now, request_id, digest, then keys. Answers how many of them were there and had not expired.
local FIRST = 4
local now, request_id, digest = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if missing() then
  return {'missing'}
end
local known = replayed(request_id, digest)
if known == false then
  return {'reused'}
elseif known then
  return {'ok', known}
end
if ended() then
  return {'ended'}
end
local deleted, freed = 0, 0
for i = FIRST, #ARGV do
  local stored = call('HGET', SCRATCH, ARGV[i])
  if stored then
    local _, live = header(stored, now)
    deleted = deleted + (live and 1 or 0)
    freed = freed + #ARGV[i] + #stored
    call('HDEL', SCRATCH, ARGV[i])
  end
end
if freed > 0 then
  call('HINCRBY', META, 'scratch_bytes', text(-freed))
end
remember(request_id, digest, text(deleted))
expire_parts(call('PTTL', META))
return {'ok', text(deleted)}
