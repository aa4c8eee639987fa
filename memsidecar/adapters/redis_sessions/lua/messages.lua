-- ARGV: limit, then the seq to start after, or empty for the newest. Answers the seq of the first message and all of them.
local limit, after = tonumber(ARGV[1]), ARGV[2]
if missing() then
  return {'missing'}
end
local length = call('LLEN', MESSAGES)
local oldest = tonumber(call('HGET', META, 'last_seq')) - length + 1
local from = after == '' and length - limit or tonumber(after) + 1 - oldest
from = math.max(0, from)
return {'ok', text(oldest + from), call('LRANGE', MESSAGES, text(from), text(from + limit - 1))}
