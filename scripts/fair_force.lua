-- Takes many fair locks away from whoever holds them and tells whoever is next.
--
-- KEYS  four per lock: its key, its queue, the times of those who wait, their places
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's clock, in ms since 1970
-- reply per key: 1 it was locked and is free · 2 the same, but the server refused the message
--       · 0 it was free · a string: why the server refused; a key that is no hash is left alone
--
-- Sent twice: the second finds nothing. Sent late: it takes the lock from whoever holds it then, so
-- a copy that got no answer is not sent again.

local verb, now = ARGV[1], tonumber(ARGV[2])

local function force(lock)
  local fields = redis.pcall('HLEN', lock.key)
  if type(fields) == 'table' then return fields.err end
  if fields == 0 then return 0 end
  local removed = delete(fields, lock.key)
  if type(removed) == 'table' then return removed.err end
  local head, _, _, doubt = prune(verb, lock, now)
  return tell_next(verb, lock, now, head, doubt) and 1 or 2
end

local reply = {}
for i = 1, #KEYS / 4 do
  reply[i] = force({key = KEYS[4 * i - 3], queue = KEYS[4 * i - 2], times = KEYS[4 * i - 1], places = KEYS[4 * i]})
end
return reply
