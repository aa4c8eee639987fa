-- ARGV: keys. Answers one value, or nil, a key.
if missing() then
  return {'missing'}
end
local found = {}
for i = 1, #ARGV do
  found[i] = call('HGET', SCRATCH, ARGV[i])
end
return {'ok', found}
