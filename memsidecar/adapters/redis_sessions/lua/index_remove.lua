-- ARGV: id, the due time it had before its session was deleted.
if call('ZSCORE', DUE, ARGV[1]) == ARGV[2] then
  remove(ARGV[1])
end
return 0
