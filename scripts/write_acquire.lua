-- Takes many locks for writing in one call, each for a tenure of its own.
--
-- KEYS  the lock keys
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the lease of all in ms, or '' when each has its own (at least 1: PEXPIRE deletes for less)
--       then per key: tenure id, and its own lease
--       then any number of pairs: index into KEYS, id of a ghost to release first
-- reply per key (1 alone if all are): 1 granted · {ttl in ms, writer} held by somebody else, the writer ''
--       if it is read or no such lock, a ttl of -1 meaning without expiry · a string: why the server refused
--
-- Sent twice: the second finds its own field, answers granted, and raises the TTL but never lowers it.
-- Sent late: it may take a free lock for a tenure nobody waits for any more; that is what ghosts are.

local verb, keys = ARGV[1], #KEYS

-- A key never stays without a TTL: if the server refuses one, it goes again.
local function create(key, id, lease)
  local set = redis.pcall('HSET', key, 'mode', 'write', id .. ':write', '1')
  if type(set) == 'table' then return set.err end
  local expires = expire(key, lease)
  if expires == 1 then return 1 end
  if type(redis.pcall('DEL', key)) == 'table' then redis.pcall('HDEL', key, 'mode', id .. ':write') end
  return expires.err
end

local function write(key, id, lease)
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl.err end
  if ttl == -2 then return create(key, id, lease) end
  local found = redis.pcall('HMGET', key, 'mode', id .. ':write')
  if found.err then return found.err end
  if found[1] ~= 'write' then return {ttl, ''} end
  if not found[2] then return {ttl, writer_of(key, ttl)} end
  if ttl >= tonumber(lease) then return 1 end
  local expires = expire(key, lease)
  return expires == 1 and 1 or expires.err
end

for at = tenures + stride * (keys + 1), #ARGV, 2 do
  leave_write(verb, KEYS[tonumber(ARGV[at])], ARGV[at + 1])
end

local reply
for i = 1, keys do
  local at = tenures + stride * i
  local answer = write(KEYS[i], ARGV[at], common or ARGV[at + 1])
  if reply or answer ~= 1 then reply = noted(reply, i, answer) end
end
return reply or 1
