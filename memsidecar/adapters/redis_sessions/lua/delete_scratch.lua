-- ARGV: now, keys. Answers how many of them were there and had not expired.
local now = tonumber(ARGV[1])
if missing() then
  return {'missing'}
end
if ended() then
  return {'ended'}
end
local deleted, freed = 0, 0
for i = 2, #ARGV do
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
return {'ok', deleted}
