-- ARGV: now, request_id, digest, max entries, max bytes, then key, expected version or empty, expires_at or empty, value.
local FIRST = 6
local now, request_id, digest = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local max_entries, max_bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
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
for i = FIRST, #ARGV, 4 do
  local version, live = '0', false
  local stored = call('HGET', SCRATCH, ARGV[i])
  if stored then
    version, live = header(stored, now)
  end
  version = live and version or '0'
  if ARGV[i + 1] ~= '' and ARGV[i + 1] ~= version then
    return {'etag', ARGV[i], version}
  end
end
local base = tonumber(call('HGET', META, 'scratch_version'))
local function encoded(i)
  return text(base + (i - FIRST) / 4 + 1) .. ':' .. ARGV[i + 2] .. ':' .. ARGV[i + 3]
end
local function growth()
  local entries, bytes = 0, 0
  for i = FIRST, #ARGV, 4 do
    local stored = call('HGET', SCRATCH, ARGV[i])
    bytes = bytes + #encoded(i)
    if stored then
      bytes = bytes - #stored
    else
      entries, bytes = entries + 1, bytes + #ARGV[i]
    end
  end
  return entries, bytes
end
local function excess()
  local entries, bytes = growth()
  if call('HLEN', SCRATCH) + entries > max_entries then
    return 'entries', bytes
  elseif tonumber(call('HGET', META, 'scratch_bytes')) + bytes > max_bytes then
    return 'bytes', bytes
  end
  return nil, bytes
end
local limit, bytes = excess()
if limit then
  sweep(now)
  limit, bytes = excess()
end
if limit then
  return {limit}
end
for i = FIRST, #ARGV, 4 do
  call('HSET', SCRATCH, ARGV[i], encoded(i))
end
call('HINCRBY', META, 'scratch_bytes', text(bytes))
call('HINCRBY', META, 'scratch_version', text((#ARGV - FIRST + 1) / 4))
remember(request_id, digest, text(base))
slide(now)
return {'ok', text(base)}
