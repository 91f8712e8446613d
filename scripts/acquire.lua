-- Takes many locks in one call, each for a tenure of its own.
--
-- KEYS  the lock keys, all different: a lock has one command under way
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       then a pair per key: tenure id, lease in ms (at least 1: PEXPIRE deletes for less)
--       then any number of pairs: index into KEYS, id of a ghost to release first
-- reply per key: 1 granted · {ttl in ms, holder} held by someone else, a ttl of -1 meaning
--       without expiry and then the holder is not looked up · a string: why the server refused
--
-- Sent twice: the second finds its own field, answers granted, and raises the TTL but never lowers it.
-- Sent late: it may take a free lock for a tenure nobody waits for any more; that is what ghosts are.

local verb, keys = ARGV[1], #KEYS

for at = 2 + 2 * keys, #ARGV, 2 do
  local key = KEYS[tonumber(ARGV[at])]
  if redis.pcall('HDEL', key, ARGV[at + 1]) == 1 then redis.pcall(verb, channel(key), '0') end
end

local reply = {}

-- One call tells whether all are free, as they mostly are: a PTTL for each is a sixth of an acquire.
if keys > 1 and redis.pcall('EXISTS', unpack(KEYS)) == 0 then
  for i = 1, keys do reply[i] = create(KEYS[i], ARGV[2 * i], ARGV[2 * i + 1]) end
  return reply
end

for i = 1, keys do
  local key, id, lease = KEYS[i], ARGV[2 * i], ARGV[2 * i + 1]
  local ttl = redis.pcall('PTTL', key)
  if ttl == -2 then
    reply[i] = create(key, id, lease)
  elseif type(ttl) == 'table' then
    reply[i] = ttl.err
  else
    reply[i] = present(key, id, lease, ttl)
  end
end
return reply
