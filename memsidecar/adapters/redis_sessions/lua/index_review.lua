-- ARGV: id, ms that its session still has (negative: there is none), id, ms ...
for i = 1, #ARGV, 2 do
  local due, left = tonumber(call('ZSCORE', DUE, ARGV[i]) or '0'), tonumber(ARGV[i + 1])
  if left >= 0 then
    call('ZADD', DUE, 'XX', text(math.max(due + 1, now + left)), ARGV[i])
  elseif due < now - GRACE_MS then
    remove(ARGV[i])
  end
end
return 0
