-- Takes many fair locks away from their holders and notifies the next waiters.
--
-- KEYS  four per lock: its key, its queue, the times of its waiters, their places
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's clock, in ms since 1970
--       3: the caller's id: the engines of other holders are told; '': none is
-- reply per key: 1 it was locked and is free · 2 the same, but the server rejected the message
--       · 0 it was free · a string: why the server rejected it; a key that is no hash is left alone; a list for it, as of acquire
--
-- Sent twice: the second copy finds nothing. Sent late: it takes the lock from the holder of that moment, so
-- the engine does not resend a copy that got no reply.

local verb, now, own = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local function force(lock)
  local fields = redis.pcall('HLEN', lock.key)
  if type(fields) == 'table' then return no_hash(lock.key, fields.err) end
  if fields == 0 then return 0 end
  local holder = holder_of(own, lock.key, fields)
  local removed = delete(fields, lock.key)
  if type(removed) == 'table' then return removed.err end
  tell_engine(own, holder, lock.key, {})
  local head, _, _, doubt = prune_dead(verb, lock, now)
  return tell_next(verb, lock, now, head, doubt) and 1 or 2
end

local reply = {}
for i = 1, #KEYS / 4 do
  reply[i] = force({key = KEYS[4 * i - 3], queue = KEYS[4 * i - 2], times = KEYS[4 * i - 1], places = KEYS[4 * i]})
end
return reply
