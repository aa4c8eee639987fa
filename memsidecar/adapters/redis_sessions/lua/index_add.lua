-- ARGV: id, ttl in ms. Answers a few other ids whose time is over: the caller looks whether they live.
local due, old = now + tonumber(ARGV[2]), call('ZSCORE', DUE, ARGV[1])
if old then
  due = math.max(due, tonumber(old) + 1)
end
call('ZADD', IDS, 0, ARGV[1])
call('ZADD', DUE, text(due), ARGV[1])
return call('ZRANGEBYSCORE', DUE, '-inf', text(now - GRACE_MS), 'LIMIT', 0, 4)
