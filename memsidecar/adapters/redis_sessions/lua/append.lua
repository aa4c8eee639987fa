-- ARGV: now, request_id, digest, expected last seq or empty, max messages, max pinned, then the encoded messages.
-- A message starts with "m" or "p" (pinned) and its token count, "m12:"; the rest is opaque here.
local FIRST = 7
local now, request_id, digest, expected = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local max_messages, max_pinned = tonumber(ARGV[5]), tonumber(ARGV[6])
if missing() then
  return {'missing'}
end
local known = replayed(request_id, digest)
if known == false then
  return {'reused'}
elseif known then
  return {'ok', known, state()}
end
if ended() then
  return {'ended'}
end
local last = tonumber(call('HGET', META, 'last_seq'))
if expected ~= '' and tonumber(expected) ~= last then
  return {'moved', text(last)}
end
local function tokens_of(message)
  return tonumber(string.match(message, '^%a(%d+):'))
end
local pins, tokens = 0, 0
for i = FIRST, #ARGV do
  tokens = tokens + tokens_of(ARGV[i])
  if string.sub(ARGV[i], 1, 1) == 'p' then
    pins = pins + 1
  end
end
if pins > 0 and call('HLEN', PINNED) + pins > max_pinned then
  return {'full'}
end
local length = 0
for i = FIRST, #ARGV do
  length = call('RPUSH', MESSAGES, ARGV[i])
  if string.sub(ARGV[i], 1, 1) == 'p' then
    call('HSET', PINNED, text(last + i - FIRST + 1), ARGV[i])
  end
end
if length > max_messages then
  for _, message in ipairs(call('LPOP', MESSAGES, text(length - max_messages))) do
    tokens = tokens - tokens_of(message)
  end
  length = max_messages
end
call('HSET', META, 'last_seq', text(last + #ARGV - FIRST + 1), 'message_count', text(length))
call('HINCRBY', META, 'token_count', text(tokens))
changed(now)
remember(request_id, digest, text(last))
slide(now)
return {'ok', text(last), state()}
