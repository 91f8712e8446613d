-- Takes many locks away from those who write, whoever they are, and tells whoever waits. A lock that is only
-- read stays as it is.
--
-- KEYS  the lock keys
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
-- reply per key: 1 it was locked and is free · 2 the same, but the server refused the message · 0 nobody
--       wrote · a string: why the server refused
--
-- Sent twice: the second finds nothing. Sent late: it takes the lock from whoever writes then, so a copy that
-- got no answer is not sent again. What the writer read goes as well, with the keys of its holds.

local reply = {}
for i = 1, #KEYS do
  reply[i] = force(ARGV[1], KEYS[i], 'write', '1')
end
return reply
