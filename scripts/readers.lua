-- Put behind read_write.lua, before the scripts after which the readers that are left decide how long the
-- lock lives.

-- Nobody reads that often: a hash with such a number is none of these locks.
local most_holds = 100000

-- So many keys of holds are looked at in a call at most, and so many removed, of however many readers and locks. What is not
-- looked at leaves a TTL as it is; what is not removed ends with its lease.
local may_look, may_remove = 2000, 2000

-- The server's clock goes on during a call, so what was given one lease may end at two moments, this many ms
-- apart at most. A TTL that is longer than needed by no more is left alone.
local apart = 50

-- Of more fields than this not all are looked through if there is a way around it. So many are looked at first,
-- which pays for itself when there are more than a few.
-- Of more than so many readers no others are looked at: the TTL stays until there are fewer.
local most_looked_at, few, most_readers = 8, 64, 1000

-- Whether a hold's key that is not in this node is gone. While the slot of a lock moves it may be where it comes from, which
-- the server says only of several keys at once. One answer is that of all: the keys of a call lie in one slot.
local settled
local function gone(key, hold)
  if settled == nil then settled = type(redis.pcall('EXISTS', key, hold)) == 'number' end
  return settled
end

-- The longest lease that some readers have left, 0 if none has any; or enough, when it is nearly that long at
-- least or the server does not say, as while the slot moves. The youngest field comes first, because it mostly has the longest.
local function longest_among(key, hash, enough)
  local most = 0
  for at = #hash - 1, 1, -2 do
    if not ((tonumber(hash[at + 1]) or 0) <= most_holds) then return enough end -- NaN is neither more nor less
    local count, prefix = is_writer(hash[at]) and 0 or count_of(hash[at + 1]), holds(key, hash[at])
    if count > may_look then return enough end
    may_look = may_look - count
    for i = count, 1, -1 do
      local ttl = redis.pcall('PTTL', prefix .. i)
      if type(ttl) == 'table' or ttl == -2 and not gone(key, prefix .. i) then return enough end
      if ttl == 0 then ttl = 1 end -- its last millisecond is not over
      most = math.max(most, ttl)
      if most > 0 and most + apart >= enough then return enough end
    end
  end
  return most
end

-- The same of all readers. Of many a few at random are asked first: one of them mostly has as long a lease as the
-- lock, and then the others do not matter.
local function longest(key, enough)
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'number' and fields > few then
    local some = redis.pcall('HRANDFIELD', key, most_looked_at, 'WITHVALUES')
    local most = some.err and 0 or longest_among(key, some, enough)
    if most > 0 and most + apart >= enough then return most end
    if fields > most_readers then return enough end
  end
  local hash = redis.pcall('HGETALL', key)
  return hash.err and enough or longest_among(key, hash, enough)
end

-- For a lock in mode read: its TTL falls to what its readers need. If none of them is alive, the hash goes.
-- It answers what is to be told to those who wait: '0' if it went, '1' if the TTL fell by more than a tenth, so that
-- readers who come and go do not wake them each time; false otherwise.
local function fit(key)
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return false end
  local need = longest(key, ttl < 0 and math.huge or ttl)
  if need == 0 then return redis.pcall('DEL', key) == 1 and '0' end
  if need == math.huge or need == ttl then return false end
  local set = redis.pcall('PEXPIRE', key, string.format('%d', need))
  return set == 1 and (ttl < 0 or 10 * need < 9 * ttl) and '1'
end

-- For a lock in mode read that had no expiry, which somebody else took away, and has that of one reader now: its
-- TTL rises to what the others need.
local function cover(key, ttl, lease)
  if ttl ~= -1 or redis.pcall('HGET', key, 'mode') ~= 'read' then return end
  local need = longest(key, math.huge)
  if need ~= math.huge and need > tonumber(lease) then redis.pcall('PEXPIRE', key, string.format('%d', need)) end
end

-- The longest lease of the holds of a reader.
local function longest_of(key, id, count)
  local prefix, most = holds(key, id), 0
  local number = math.min(count, may_look)
  may_look = may_look - number
  for i = 1, number do
    local ttl = redis.pcall('PTTL', prefix .. i)
    if type(ttl) == 'number' then most = math.max(most, ttl) end
  end
  return most
end

-- Removes the keys of a reader's holds from the last one down to those that are left to it.
local function remove_keys(key, id, count, left)
  local prefix, last = holds(key, id), math.min(count, most_holds)
  local number = math.max(math.min(last - left, may_remove), 0)
  may_remove = may_remove - number
  for i = last, last - number + 1, -1 do redis.pcall('DEL', prefix .. i) end
end

-- The longest lease of a reader who leaves, whose keys go.
local function clear(key, id, count)
  local most = longest_of(key, id, count)
  remove_keys(key, id, count, 0)
  return most
end

-- Whether somebody's lease, who had this long left, may be what the TTL of the lock covers. That was left alone
-- within what is apart, and was apart before.
local function covers(had, ttl)
  return had + 2 * apart >= ttl
end

local function upheld(key, fields, had)
  local ttl = fields > most_looked_at and redis.pcall('PTTL', key)
  return type(ttl) == 'number' and not covers(had, ttl)
end

-- Removes a lock with its last reader, whose only hold mostly goes with it. Returns nothing, or the table of an error.
local function remove(key, id, count)
  if count == 1 and type(redis.pcall('DEL', key, holds(key, id) .. 1)) == 'number' then return end
  local removed = redis.pcall('DEL', key)
  if removed ~= 1 then return removed end
  remove_keys(key, id, count, 0)
end

-- Removes the keys of a reader that somebody else removed. The first has the longest lease, so none is behind one that is over.
local function clear_lost(key, id)
  local prefix, i = holds(key, id), 1
  while i <= most_holds and may_remove > 0 and redis.pcall('DEL', prefix .. i) == 1 do i, may_remove = i + 1, may_remove - 1 end
end

-- Ends a reader: 1 or 2 as tell, 0 when there is none of that name, a string when the server refuses. Beside
-- a writer the TTL is the writer's. If those who are left may need less of the lock's TTL, also true: it is to
-- be fitted.
local function leave_read(verb, key, id)
  local count = redis.pcall('HGET', key, id)
  if not count then
    clear_lost(key, id)
    return 0
  end
  if type(count) == 'table' then return count.err end
  count = math.max(count_of(count), 1)
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'table' then return fields.err end
  if fields <= 2 then
    local removed = remove(key, id, count)
    if removed then return removed.err end
    return tell(verb, key, '0')
  end
  local removed = redis.pcall('HDEL', key, id)
  if removed ~= 1 then return removed.err end
  local had = clear(key, id, count)
  return 1, redis.pcall('HGET', key, 'mode') == 'read' and not upheld(key, fields, had)
end

-- Fits a lock after somebody left, and tells whoever waits if it went with the last who was alive, or ends much sooner.
local function fit_and_tell(verb, key)
  local what = fit(key)
  return what and tell(verb, key, what) or 1
end

