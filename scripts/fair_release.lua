-- Releases many tenures of fair locks in one call, or takes them out of the queue, and tells whoever is
-- next.
--
-- KEYS  three per lock: its key, its queue, the times of those who wait
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's clock, in ms since 1970
--       then a pair per lock: tenure id, how long it waits in ms as it was said when it queued ('' if
--       that is not known)
-- reply per key: 1 released · 2 released, but the server refused the message · 0 gone: the tenure did not
--       hold the lock · a string: why the server refused
--
-- Sent twice or late: the field of that tenure and its place are gone and never come back. While the lock
-- is free, the head is told each time, which costs it one more try.

local verb, now = ARGV[1], tonumber(ARGV[2])

local function release(key, queue, times, id, wait)
  local removed = redis.pcall('HDEL', key, id)
  if type(removed) == 'table' then return removed.err end
  if removed == 0 then leave(queue, times, id, wait, now) end
  local head = prune(verb, key, queue, times, now)
  if removed == 1 then return tell(verb, key, head) and 1 or 2 end
  if redis.pcall('EXISTS', key) == 0 then tell(verb, key, head) end
  return 0
end

local reply = {}
for i = 1, #KEYS / 3 do
  reply[i] = release(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[2 * i + 1], ARGV[2 * i + 2])
end
return reply
