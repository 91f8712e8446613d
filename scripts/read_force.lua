-- Takes many locks away from those who read, whoever they are, and tells whoever waits. A lock that somebody
-- writes under stays as it is.
--
-- KEYS  the lock keys
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
-- reply per key: 1 it was locked and is free · 2 the same, but the server refused the message · 0 nobody
--       read it, or somebody writes · a string: why the server refused
--
-- Sent twice: the second finds nothing. Sent late: it takes the lock from whoever reads then, so a copy that
-- got no answer is not sent again. The keys of holds go with it, of very many holds not all.

local reply = {}
for i = 1, #KEYS do
  reply[i] = force(ARGV[1], KEYS[i], 'read', '0')
end
return reply
