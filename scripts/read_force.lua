-- Takes many locks away from those who read, whoever they are, and tells whoever waits. A lock that somebody
-- writes under stays as it is.
--
-- KEYS  the lock keys
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
-- reply per key: 1 it was locked and is free · 2 the same, but the server refused the message · 0 nobody
--       read it, or somebody writes · a string: why the server refused
--
-- Sent twice: the second finds nothing. Sent late: it takes the lock from whoever reads then, so a copy that
-- got no answer is not sent again. The keys of holds are left to end by themselves.

local verb = ARGV[1]

local function force(key)
  local mode = redis.pcall('HGET', key, 'mode')
  if type(mode) == 'table' then return mode.err end
  if mode ~= 'read' then return 0 end
  local removed = redis.pcall('DEL', key)
  if removed ~= 1 then return removed.err end
  return tell(verb, key, '0')
end

local reply = {}
for i = 1, #KEYS do
  reply[i] = force(KEYS[i])
end
return reply
