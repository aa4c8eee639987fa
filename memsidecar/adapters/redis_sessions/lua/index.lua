-- The sessions of one partition. KEYS: ids (all scores 0, so that they order by name) and due (when each should have
-- expired, in the server's milliseconds). The due time is a stamp too: it changes whenever the id is added again, so
-- that a removal meant for a deleted session never takes out its successor.
local IDS, DUE = KEYS[1], KEYS[2]
-- Adding to the index and creating the session are two steps; nothing is removed while a creator may be between them.
local GRACE_MS = 60000
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function text(n)
  return string.format('%.0f', n)
end

local function remove(id)
  call('ZREM', IDS, id)
  call('ZREM', DUE, id)
end
