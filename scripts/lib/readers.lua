-- Put after read_write.lua, before the scripts after which the remaining readers decide how long the lock lives.

-- No reader has more holds than this: a hash with a larger number is no lock.
local most_holds = 100000

-- At most this many keys of holds are looked at per call, and at most this many removed, of all readers and locks
-- together. A TTL that depends on a key not looked at stays as it is; a key not removed expires with its lease.
local may_look, may_remove = 2000, 2000

-- The server's clock advances during a call. So keys that were given one lease may expire up to this many ms apart. A
-- TTL that exceeds the need by at most this is left alone.
local ttl_tolerance_ms = 50

-- sample_size: how many readers are sampled first. That saves time when there are more than sample_threshold fields.
-- sample_threshold: of more fields than this, not all are read if there is another way.
-- most_readers: of more readers than this, only the sample is read; the TTL stays until there are fewer.
local sample_size, sample_threshold, most_readers = 8, 64, 1000

-- Reports whether a hold's key that is not on this node is gone. While the slot migrates, the key may still be on the
-- source node. The server reveals that only for several keys at once. One result holds for the whole call, because all
-- its keys are in one slot.
local settled
local function gone(key, hold)
  if settled == nil then settled = type(redis.pcall('EXISTS', key, hold)) == 'number' end
  return settled
end

-- Returns the longest lease that some readers have left, 0 if none has any. Returns enough at once in these cases:
-- - a lease is enough, or at most ttl_tolerance_ms less
-- - the server does not say, as while the slot migrates
-- - the call has looked at the most it may
-- It begins with the youngest field, because that mostly has the longest lease.
local function max_lease_of(key, hash, enough)
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
      if most > 0 and most + ttl_tolerance_ms >= enough then return enough end
    end
  end
  return most
end

-- Returns the same for all readers. If there are many, it samples a few at random first: one of them mostly has as long
-- a lease as the lock, and then the others do not matter.
local function longest(key, enough)
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'number' and fields > sample_threshold then
    local some = redis.pcall('HRANDFIELD', key, sample_size, 'WITHVALUES')
    local most = some.err and 0 or max_lease_of(key, some, enough)
    if most > 0 and most + ttl_tolerance_ms >= enough then return most end
    if fields > most_readers then return enough end
  end
  local hash = redis.pcall('HGETALL', key)
  return hash.err and enough or max_lease_of(key, hash, enough)
end

-- Lowers the TTL of a lock in mode read to what its readers need. If none of them is alive, it deletes the hash. Returns
-- the message for the waiters: '0' if the hash was deleted, '1' if the TTL fell by more than a tenth, otherwise false. The
-- tenth keeps readers that come and go from waking the waiters each time.
local function fit_ttl(key)
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return false end
  local need = longest(key, ttl < 0 and math.huge or ttl)
  if need == 0 then return redis.pcall('DEL', key) == 1 and '0' end
  if need == math.huge or need == ttl then return false end
  local set = redis.pcall('PEXPIRE', key, string.format('%d', need))
  return set == 1 and (ttl < 0 or 10 * need < 9 * ttl) and '1'
end

-- Raises the TTL of a lock in mode read to what the other readers need. It applies to a lock that had no expiry, because
-- another client removed it, and that now has the TTL of one reader.
local function raise_ttl_for_others(key, ttl, lease)
  if ttl ~= -1 or redis.pcall('HGET', key, 'mode') ~= 'read' then return end
  local need = longest(key, math.huge)
  if need ~= math.huge and need > tonumber(lease) then redis.pcall('PEXPIRE', key, string.format('%d', need)) end
end

-- Returns the longest lease of a reader's holds.
local function max_lease_of_reader(key, id, count)
  local prefix, most = holds(key, id), 0
  local number = math.min(count, may_look)
  may_look = may_look - number
  for i = 1, number do
    local ttl = redis.pcall('PTTL', prefix .. i)
    if type(ttl) == 'number' then most = math.max(most, ttl) end
  end
  return most
end

-- Removes the keys of a reader's holds, from the last one down to those that it keeps.
local function remove_keys(key, id, count, left)
  local prefix, last = holds(key, id), math.min(count, most_holds)
  local number = math.max(math.min(last - left, may_remove), 0)
  may_remove = may_remove - number
  for i = last, last - number + 1, -1 do redis.pcall('DEL', prefix .. i) end
end

-- Removes the keys of a reader that leaves, and returns its longest lease.
local function delete_hold_keys(key, id, count)
  local most = max_lease_of_reader(key, id, count)
  remove_keys(key, id, count, 0)
  return most
end

-- Reports whether a lease with had ms left may be the one that the lock's TTL covers. The tolerance applies twice: once
-- for a TTL that was left alone within it, and once for keys that were apart before.
local function decides_ttl(had, ttl)
  return had + 2 * ttl_tolerance_ms >= ttl
end

local function ttl_kept_by_others(key, fields, had)
  local ttl = fields > sample_size and redis.pcall('PTTL', key)
  return type(ttl) == 'number' and not decides_ttl(had, ttl)
end

-- Removes a lock with its last reader, mostly together with its only hold. Returns nothing, or the table of an error.
local function remove(key, id, count)
  if count == 1 and type(redis.pcall('DEL', key, holds(key, id) .. 1)) == 'number' then return end
  local removed = redis.pcall('DEL', key)
  if removed ~= 1 then return removed end
  remove_keys(key, id, count, 0)
end

-- Removes the keys of a reader after another client removed its field. The first key has the longest lease, so it stops at the
-- first that is absent.
local function clear_lost(key, id)
  local prefix, i = holds(key, id), 1
  while i <= most_holds and may_remove > 0 and redis.pcall('DEL', prefix .. i) == 1 do i, may_remove = i + 1, may_remove - 1 end
end

-- Ends a reader. Returns 1 or 2 as publish_to does, 0 when there is none with that id, and a string when the server rejects it.
-- Beside a writer, the writer decides the TTL. If the remaining readers may need a lower TTL, also returns true: the
-- caller has to call fit_ttl.
local function release_read(verb, key, id)
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
    return publish_to(verb, key, '0')
  end
  local removed = redis.pcall('HDEL', key, id)
  if removed ~= 1 then return removed.err end
  local had = delete_hold_keys(key, id, count)
  return 1, redis.pcall('HGET', key, 'mode') == 'read' and not ttl_kept_by_others(key, fields, had)
end

-- Fits a lock after a reader left. Notifies the waiters if the lock is gone, as without a live reader, or ends much sooner.
local function fit_and_tell(verb, key)
  local what = fit_ttl(key)
  return what and publish_to(verb, key, what) or 1
end

