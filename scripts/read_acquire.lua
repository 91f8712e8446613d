-- Acquires many locks for reading in one call, each for a tenure of its own.
--
-- KEYS  a pair per lock: its key, the key of the tenure's first hold
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the lease of all in ms, or '' when each has its own (at least 1: PEXPIRE deletes for less)
--       then per lock: tenure id, and its own lease
--       then how many read beside a writer, and that many pairs: number of the lock, id of the writer
--       then any number of pairs: number of the lock, id of an orphan to release first
-- reply per key (1 alone if all are): 1 granted · {ttl in ms, writer} held by a writer, the writer '' if it is no
--       such lock, a ttl of -1 meaning without expiry · a string: why the server rejected it; a list for a key that is no hash, as of acquire
--
-- Sent twice: the second copy finds its own field, replies granted, and raises the TTLs but never lowers them.
-- Sent late: it may acquire a lock for a tenure without a waiter; the engine treats that tenure as an orphan.

local verb, locks = ARGV[1], #KEYS / 2

local function raise(key, ttl, lease)
  if ttl >= tonumber(lease) then return 1 end
  return expire(key, lease)
end

-- Creates a hold's key. It uses PXAT where the deadline is known, as expire uses PEXPIREAT.
local function mark(hold, lease)
  local set = begun and redis.pcall('SET', hold, '1', 'PXAT', ending(lease))
  return set and set.ok and set or redis.pcall('SET', hold, '1', 'PX', lease)
end

-- Sets the TTLs of the lock and of a hold. The lock's comes first, so that it never ends before the hold that it covers.
local function stamp(key, hold, ttl, lease)
  local set = raise(key, ttl, lease)
  if set == 1 then set = mark(hold, lease) end
  return set.ok and 1 or set.err
end

-- Creates a lock with its first reader. A reader never stays without a TTL: if the server rejects the TTL, the field is
-- removed again.
local function create(key, hold, id, lease)
  local set = redis.pcall('HSET', key, 'mode', 'read', id, '1')
  if type(set) == 'table' then return set.err end
  local stamped = stamp(key, hold, -1, lease)
  if stamped ~= 1 and type(redis.pcall('DEL', key)) == 'table' then redis.pcall('HDEL', key, 'mode', id) end
  return stamped
end

-- The locks that readers joined in this call, and how many joined each.
local joined, came = {}, {}

local function note(key)
  if not came[key] then joined[#joined + 1] = key end
  came[key] = (came[key] or 0) + 1
end

local function join(key, hold, id, lease, ttl)
  local set = redis.pcall('HSET', key, id, '1')
  if type(set) == 'table' then return set.err end
  local stamped = stamp(key, hold, ttl, lease)
  if stamped ~= 1 then
    redis.pcall('HDEL', key, id)
  else
    raise_ttl_for_others(key, ttl, lease)
    note(key)
  end
  return stamped
end

-- Reports whether none of a reader's holds is left, of whatever client it is: its process died, or its lease ended.
-- It reports false without looking for a reader with more than sample_threshold holds, and when the call has looked at enough.
local function died(key, id, count)
  if count < 1 or count > sample_threshold or count > may_look then return false end
  may_look = may_look - count
  local prefix = holds(key, id)
  for i = 1, count do
    if redis.pcall('PTTL', prefix .. i) ~= -2 then return false end
  end
  return gone(key, prefix .. 1)
end

-- Looks at some readers at random, removes those that are dead, and returns how many they were.
local function remove_among(key, number)
  local some = redis.pcall('HRANDFIELD', key, number, 'WITHVALUES')
  local dead = {}
  for at = 1, #some, 2 do
    if not is_writer(some[at]) and died(key, some[at], count_of(some[at + 1])) then dead[#dead + 1] = some[at] end
  end
  if #dead > 0 then redis.pcall('HDEL', key, unpack(dead)) end
  return #dead
end

-- Dead readers are removed with the last live reader, but a continuous stream of readers may have no last one. So when
-- readers join a lock with many, the script looks at a few at random. If one of them is dead, it looks at two more for
-- each reader that joined. Then readers cannot die faster than they are removed.
local function remove_dead(key)
  local fields = redis.pcall('HLEN', key)
  if type(fields) ~= 'number' or fields <= sample_threshold or redis.pcall('HGET', key, 'mode') ~= 'read' then return end
  if remove_among(key, sample_size) > 0 then remove_among(key, 2 * came[key]) end
end

local function raise_ttl(key, hold, lease, ttl)
  local left = redis.pcall('PTTL', hold)
  if type(left) == 'number' and left >= tonumber(lease) then
    local set = raise(key, ttl, lease)
    return set == 1 and 1 or set.err
  end
  return stamp(key, hold, ttl, lease)
end

-- Reports whether all are free, as they mostly are, with one EXISTS. A lock that the call has looked at since may not be.
local function all_free()
  local keys = {}
  for i = 1, locks do keys[i] = KEYS[2 * i - 1] end
  return locks > 1 and redis.pcall('EXISTS', unpack(keys)) == 0
end

-- ttls: the TTLs of the locks that readers of this call have, as far as they are known.
local looked_at, ttls = {}, {}

local function read(key, hold, id, lease, writer, free)
  local ttl = free and not looked_at[key] and -2 or ttls[key] or redis.pcall('PTTL', key)
  looked_at[key], ttls[key] = true, nil
  if type(ttl) == 'table' then return ttl.err end
  if ttl == -2 then return create(key, hold, id, lease) end
  local found = redis.pcall('HMGET', key, 'mode', id, (writer or '') .. ':write')
  if found.err then return no_hash(key, found.err) end
  local mode, mine, beside = found[1], found[2], writer and found[3]
  if mode and mine then return raise_ttl(key, hold, lease, ttl) end
  if mode == 'read' or mode == 'write' and beside then
    local joins = join(key, hold, id, lease, ttl)
    if joins == 1 and ttl >= 0 then ttls[key] = math.max(ttl, tonumber(lease)) end
    return joins
  end
  return {ttl, mode == 'write' and writer_of(key, ttl) or ''}
end

local at, writers = tenures + stride * (locks + 1), {}
for _ = 1, tonumber(ARGV[at]) do
  writers[tonumber(ARGV[at + 1])] = ARGV[at + 2]
  at = at + 2
end

for at = at + 1, #ARGV, 2 do
  local key = KEYS[2 * tonumber(ARGV[at]) - 1]
  local _, unfit = release_read(verb, key, ARGV[at + 1])
  if unfit then fit_and_tell(verb, key) end
end

local reply, free = nil, all_free()
for i = 1, locks do
  local at = tenures + stride * i
  local answer = read(KEYS[2 * i - 1], KEYS[2 * i], ARGV[at], common or ARGV[at + 1], writers[i], free)
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
end
for i = 1, #joined do remove_dead(joined[i]) end
return reply or 1
