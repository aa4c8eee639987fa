-- Put before the scripts that work on scratch. A value is stored as "version:expires_at:JSON", expires_at may be empty.
local function header(stored, now)
  local version, expires = string.match(stored, '^(%d+):(%d*):')
  local live = expires == '' or tonumber(expires) > now
  return version, live
end

-- Removes what has expired and gives the rest: key, value, key, value ...
local function sweep(now)
  local all, live, freed = call('HGETALL', SCRATCH), {}, 0
  for i = 1, #all, 2 do
    local _, alive = header(all[i + 1], now)
    if alive then
      live[#live + 1] = all[i]
      live[#live + 1] = all[i + 1]
    else
      call('HDEL', SCRATCH, all[i])
      freed = freed + #all[i] + #all[i + 1]
    end
  end
  if freed > 0 then
    call('HINCRBY', META, 'scratch_bytes', -freed)
  end
  return live
end
