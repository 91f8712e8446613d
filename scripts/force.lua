-- Takes many locks away from their holders and notifies the waiters.
--
-- KEYS  the lock keys
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's id: the engines of other holders are told; '': none is
-- reply per key: 1 it was locked and is free · 2 the same, but the server rejected the message
--       · 0 it was free · a string: why the server rejected it; a key that is no hash is left alone; a list for it, as of acquire
--
-- Sent twice: the second copy finds nothing. Sent late: it takes the lock from the holder of that moment, so
-- the engine does not resend a copy that got no reply.

local verb, own = ARGV[1], ARGV[2]

local function force(key)
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'table' then return no_hash(key, fields.err) end
  if fields == 0 then return 0 end
  local holder = holder_of(own, key, fields)
  local removed = delete(fields, key)
  if type(removed) == 'table' then return removed.err end
  tell_engine(own, holder, key, {})
  return type(redis.pcall(verb, channel(key), '0')) == 'number' and 1 or 2
end

local reply = {}
for i = 1, #KEYS do
  reply[i] = force(KEYS[i])
end
return reply
