-- ARGV: now, request_id, digest, expected version, labels, ttl, sliding; an empty one of the last four is "leave it".
local now, request_id, digest = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local expected, labels, ttl, sliding = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if missing() then
  return {'missing'}
end
local known = replayed(request_id, digest)
if known == false then
  return {'reused'}
elseif known then
  return {'ok', state()}
end
local version = call('HGET', META, 'version')
if expected ~= '' and expected ~= version then
  return {'etag', '', version}
end
if labels ~= '' then
  call('HSET', META, 'labels', labels)
end
if sliding ~= '' then
  call('HSET', META, 'sliding', sliding)
end
changed(now)
remember(request_id, digest, '')
if ttl ~= '' then
  call('HSET', META, 'ttl', ttl)
  restart_time(now)
else
  expire_parts(call('PTTL', META))
end
return {'ok', state()}
