-- Acquires many locks in one call, each for a tenure of its own.
--
-- KEYS  the lock keys, all different, because a lock has at most one command in flight
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the lease of all in ms, or '' when each has its own (at least 1: PEXPIRE deletes for less)
--       then per key: tenure id, and its own lease
--       then any number of pairs: index into KEYS, id of an orphan to release first
-- reply per key (1 alone if all are): 1 granted · {ttl in ms, holder} held by another tenure · a string: why the
--       server rejected it. A ttl of -1 means without expiry; the holder is '' then and is not looked up. For a hash
--       of several fields, which is no such lock, the holder is "several". For a key that is no hash: {why, ttl in ms, type}.
--
-- Sent twice: the second copy finds its own field, replies granted, and raises the TTL but never lowers it.
-- Sent late: it may acquire a free lock for a tenure without a waiter; the engine treats that tenure as an orphan.

local verb, keys = ARGV[1], #KEYS

release_orphans(verb, tenures + stride * (keys + 1), 1)

-- One EXISTS tells whether all keys are free, as they mostly are: a PTTL for each is a sixth of an acquire.
local free = keys > 1 and redis.pcall('EXISTS', unpack(KEYS)) == 0

local function acquire_one(key, id, lease)
  local ttl = redis.pcall('PTTL', key)
  if ttl == -2 then return create(key, id, lease) end
  return type(ttl) == 'table' and ttl.err or try_existing(key, id, lease, ttl)
end

local reply
for i = 1, keys do
  local at = tenures + stride * i
  local answer = (free and create or acquire_one)(KEYS[i], ARGV[at], common or ARGV[at + 1])
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
end
return reply or 1
