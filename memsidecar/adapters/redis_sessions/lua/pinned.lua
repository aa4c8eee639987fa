if missing() then
  return {'missing'}
end
return {'ok', call('HGETALL', PINNED)}
