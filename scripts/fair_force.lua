-- Takes many fair locks away from whoever holds them and tells whoever is next.
--
-- KEYS  three per lock: its key, its queue, the times of those who wait
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's clock, in ms since 1970
-- reply per key: 1 it was locked and is free · 2 the same, but the server refused the message
--       · 0 it was free · a string: why the server refused; a key that is no hash is left alone
--
-- Sent twice: the second finds nothing. Sent late: it takes the lock from whoever holds it then, so
-- a copy that got no answer is not sent again.

local verb, now = ARGV[1], tonumber(ARGV[2])

local function force(key, queue, times)
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'table' then return fields.err end
  if fields == 0 then return 0 end
  local removed = redis.pcall('DEL', key)
  if type(removed) == 'table' then return removed.err end
  local head = prune(verb, key, queue, times, now)
  return tell(verb, key, head) and 1 or 2
end

local reply = {}
for i = 1, #KEYS / 3 do
  reply[i] = force(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i])
end
return reply
