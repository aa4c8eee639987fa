-- Put before every script that works on one session. KEYS are the session's keys, always all and in this order, so that
-- one hash tag holds a script. Times are microseconds given by the caller; only key expiry uses the server's clock.
local META, MESSAGES, PINNED, SCRATCH, REQUESTS, ORDER = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local KEPT_REQUESTS = 1000
local call = redis.call

-- Plain tostring() would write large numbers with an exponent.
local function text(n)
  return string.format('%.0f', n)
end

local function missing()
  return call('EXISTS', META) == 0
end

local function ended()
  return call('HEXISTS', META, 'ended_at') == 1
end

local function state()
  return call('HGETALL', META)
end

-- The other keys outlive the state by a second, so that no reader can meet a session that has lost a part.
local function expire_parts(ms)
  for i = 2, #KEYS do
    call('PEXPIRE', KEYS[i], text(ms + 1000))
  end
end

local function restart_time(now)
  local ttl = tonumber(call('HGET', META, 'ttl'))
  local ms = math.ceil(ttl / 1000)
  call('HSET', META, 'expires_at', text(now + ttl))
  call('PEXPIRE', META, text(ms))
  expire_parts(ms)
end

-- After a write: a sliding session starts its time again; in another one, new keys get the time that is left.
local function slide(now)
  if call('HGET', META, 'sliding') == '1' then
    restart_time(now)
  else
    expire_parts(call('PTTL', META))
  end
end

local function changed(now)
  call('HSET', META, 'updated_at', text(now))
  call('HINCRBY', META, 'version', 1)
end

-- nil: a new request; false: the id was used for something else; otherwise the result that was remembered.
local function replayed(request_id, digest)
  local stored = request_id ~= '' and call('HGET', REQUESTS, request_id)
  if not stored then
    return nil
  end
  local head = #digest .. ':' .. digest
  return string.sub(stored, 1, #head) == head and string.sub(stored, #head + 1)
end

local function remember(request_id, digest, result)
  if request_id == '' then
    return
  end
  call('HSET', REQUESTS, request_id, #digest .. ':' .. digest .. result)
  if call('RPUSH', ORDER, request_id) > KEPT_REQUESTS then
    call('HDEL', REQUESTS, call('LPOP', ORDER))
  end
end
