-- ARGV: now.
if missing() then
  return {'missing'}
end
return {'ok', sweep(tonumber(ARGV[1]))}
