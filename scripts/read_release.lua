-- Releases many readers in one call. When the last of a lock goes, whoever waits is told.
--
-- KEYS  the lock keys (those of the holds are not declared: some may be in another node while their slot
--       migrates, where they end by themselves)
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       then per key: tenure id
-- reply per key: 1 released · 2 released, but the server refused the message · 0 gone: the tenure was not
--       in Redis · a string: why the server refused
--
-- Sent twice or late: the field of that tenure is gone, so nothing happens and nothing is published. The TTL
-- falls to what the readers that are left need, unless somebody writes. Readers that died are removed with
-- the last one that lives.

local verb = ARGV[1]

local reply = {}
for i = 1, #KEYS do
  reply[i] = leave_read(verb, KEYS[i], ARGV[i + 1])
end
return reply
