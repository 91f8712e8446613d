-- Acquires many locks for writing in one call, each for a tenure of its own.
--
-- KEYS  the lock keys
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the lease of all in ms, or '' when each has its own (at least 1: PEXPIRE deletes for less)
--       then per key: tenure id, and its own lease
--       then any number of pairs: index into KEYS, id of an orphan to release first
-- reply per key (1 alone if all are): 1 granted · {ttl in ms, writer} held by another tenure, the writer ''
--       if readers hold it or it is no such lock, a ttl of -1 meaning without expiry · {ttl in ms, '', numbers}
--       held by readers, and some are tenures of the same engine: numbers is what follows the last colon of their
--       ids, separated by spaces · a string: why the server rejected it; a list for a key that is no hash, as of acquire
--
-- Sent twice: the second copy finds its own field, replies granted, and raises the TTL but never lowers it.
-- Sent late: it may acquire a free lock for a tenure without a waiter; the engine treats that tenure as an orphan.

local verb, keys = ARGV[1], #KEYS

-- Creates the lock. A key never stays without a TTL: if the server rejects the TTL, the field is removed again.
local function create(key, id, lease)
  local set = redis.pcall('HSET', key, 'mode', 'write', id .. ':write', '1')
  if type(set) == 'table' then return set.err end
  local expires = expire(key, lease)
  if expires == 1 then return 1 end
  if type(redis.pcall('DEL', key)) == 'table' then redis.pcall('HDEL', key, 'mode', id .. ':write') end
  return expires.err
end

-- Returns the reply for a lock with readers. It names the engine's own readers, because one of them may have no holder: a
-- server that follows another one can still have a reader that was released there. Of very many it looks at some at random.
local function read(key, id, ttl)
  local engine = ttl ~= -1 and string.match(id, '^.*:')
  local fields = engine and redis.pcall('HLEN', key)
  if type(fields) ~= 'number' then return {ttl, ''} end
  local names = fields > sample_threshold and redis.pcall('HRANDFIELD', key, sample_threshold) or redis.pcall('HKEYS', key)
  local own = {}
  for i = 1, #names do
    local name = names[i]
    if string.sub(name, 1, #engine) == engine and not is_writer(name) then own[#own + 1] = string.sub(name, #engine + 1) end
  end
  return #own > 0 and {ttl, '', table.concat(own, ' ')} or {ttl, ''}
end

local function write(key, id, lease)
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl.err end
  if ttl == -2 then return create(key, id, lease) end
  local found = redis.pcall('HMGET', key, 'mode', id .. ':write')
  if found.err then return no_hash(key, found.err) end
  if found[1] == 'read' then return read(key, id, ttl) end
  if found[1] ~= 'write' then return {ttl, ''} end
  if not found[2] then return {ttl, writer_of(key, ttl)} end
  if ttl >= tonumber(lease) then return 1 end
  local expires = expire(key, lease)
  return expires == 1 and 1 or expires.err
end

for at = tenures + stride * (keys + 1), #ARGV, 2 do
  release_write(verb, KEYS[tonumber(ARGV[at])], ARGV[at + 1])
end

local reply
for i = 1, keys do
  local at = tenures + stride * i
  local answer = write(KEYS[i], ARGV[at], common or ARGV[at + 1])
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
end
return reply or 1
