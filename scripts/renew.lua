-- Renews many tenures in one call; also writes a hold count (re-entry, partial release), sets an
-- extended lease, and counts or notifies the listeners of a lock's channel.
--
-- KEYS  the lock keys
-- ARGV  1: the PUBSUB subcommand that counts listeners (NUMSUB, or SHARDNUMSUB in a cluster)
--       2: the lease of all in ms, or '' when each has its own (0 leaves the TTL as it is; never negative)
--       then per key: tenure id, and its own lease
--       then any number of triples: index into KEYS, hold count to write ('' leaves it),
--       1 to count the listeners of the lock's channel, 2 to notify waiters if the TTL falls, 3 for both; of a fair
--       lock 4 instead of 2 and 5 instead of 3 ('' for neither: then only if it falls by more than a tenth)
-- reply per key (1 alone if all are): 1 renewed · 0 gone: the tenure is not in Redis · a string: why the
--       server rejected it · with a triple, when renewed: {1, 1 if the count is as requested or none was,
--       listeners or -1}
--
-- Never creates a field, so a copy that arrives after the tenure's end does nothing. Sent twice: the
-- TTL and the count are absolute, so the second copy changes nothing but the moment from which the TTL counts.
-- The count comes after the TTL and may fail alone: short of memory, PEXPIRE works and HSET does not,
-- unless the call has written something before.

local count_listeners, keys = ARGV[1], #KEYS
local wishes = wished(keys)

local reply
for i = 1, keys do
  local at = tenures + stride * i
  local answer = renew(KEYS[i], ARGV[at], common or ARGV[at + 1], wishes[i], count_listeners)
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
end
for at = tenures + stride * (keys + 1), #ARGV, 3 do
  local i = tonumber(ARGV[at])
  reply = reply or set_reply(nil, keys, 1)
  if reply[i] == 1 then
    local id = ARGV[tenures + stride * i]
    reply[i] = {1, write(KEYS[i], id, ARGV[at + 1]), listeners(KEYS[i], count_listeners, ARGV[at + 2])}
  end
end
return reply or 1
