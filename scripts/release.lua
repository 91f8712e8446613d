-- Releases many tenures in one call and notifies the waiters.
--
-- KEYS  the lock keys
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       then per key: tenure id
-- reply per key (1 alone if all are): 1 released · 2 released, but the server rejected the message · 0
--       gone: the tenure was not in Redis · a string: why the server rejected it
--
-- Sent twice or late: the field of that tenure is gone and never comes back, so nothing happens and
-- nothing is published. HDEL removes the hash with its last field.

local verb = ARGV[1]

local reply
for i = 1, #KEYS do
  local key = KEYS[i]
  local answer = redis.pcall('HDEL', key, ARGV[i + 1])
  if answer == 1 then
    -- A rejected message must not undo the release: waiters try again when the TTL that they know has passed.
    if type(redis.pcall(verb, channel(key), '0')) ~= 'number' then answer = 2 end
  elseif answer ~= 0 then
    answer = answer.err
  end
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
end
return reply or 1
