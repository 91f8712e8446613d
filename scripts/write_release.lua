-- Releases many writers in one call and notifies the waiters, also those that wait to read while the writer
-- continues to read.
--
-- KEYS  the lock keys
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       then per key: tenure id
-- reply per key (1 alone if all are): 1 released · 2 released, but the server rejected the message · 0
--       gone: the tenure was not in Redis · a string: why the server rejected it
--
-- Sent twice or late: the field of that tenure is gone and never comes back, so nothing happens and nothing
-- is published.

local verb = ARGV[1]

local reply
for i = 1, #KEYS do
  local answer = release_write(verb, KEYS[i], ARGV[i + 1])
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
end
return reply or 1
