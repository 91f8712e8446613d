-- Takes many locks away from all their readers, and notifies the waiters. A lock in mode write stays as it is.
--
-- KEYS  the lock keys
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's id: the engines of other holders are told; '': none is
-- reply per key: 1 it was locked and is free · 2 the same, but the server rejected the message · 0 no
--       reader holds it, or a writer does · a string: why the server rejected it; a list for a key that is no hash, as of acquire
--
-- Sent twice: the second copy finds nothing. Sent late: it takes the lock from the readers of that moment, so the
-- engine does not resend a copy that got no reply. The keys of holds are removed too; of very many holds, not all.

local reply = {}
for i = 1, #KEYS do
  reply[i] = force(ARGV[1], ARGV[2], KEYS[i], 'read', '0')
end
return reply
