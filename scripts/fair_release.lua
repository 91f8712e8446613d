-- Releases many tenures of fair locks in one call, or removes them from the queue, and notifies the next waiters.
--
-- KEYS  four per lock: its key, its queue, the times of its waiters, their places
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's clock, in ms since 1970
--       then a pair per lock: tenure id, its wait in ms as sent when it queued ('' if that is not known). What its place
--       records as added takes precedence
-- reply per key: 1 released · 2 released, but the server rejected the message · 0 gone: the tenure did not
--       hold the lock · a string: why the server rejected it
--
-- Sent twice or late: the field of that tenure and its place are gone and never come back. If the lock is free, the
-- remaining head is notified, once a call, which costs it one more try.

local verb, now = ARGV[1], tonumber(ARGV[2])

-- Removes a waiter that is near one of the ends of a long queue, and reports whether it did.
local function leave_end(lock, id)
  for _, from in ipairs({'1', '-1'}) do
    local at = redis.pcall('LPOS', lock.queue, id, 'RANK', from, 'MAXLEN', text(long))
    if type(at) == 'number' then return redis.pcall('LREM', lock.queue, from, id) == 1 end
  end
  return false
end

-- Sets the wait and the time of each leaver, the time to false if it has none. Reports whether one of them has a time.
local function ask(lock, leavers)
  local known = false
  for i = 1, #leavers do
    local it = leavers[i]
    local _, added = kept(lock, it.id)
    it.wait = added or it.wait
    it.time = it.wait ~= '' and redis.pcall('ZSCORE', lock.times, it.id)
    known = known or type(it.time) == 'string'
  end
  return known
end

-- Lets the leavers leave their places behind, and removes these if they are more than half of the queue. Returns those for
-- which that is not possible.
local function leave_all_behind(lock, leavers)
  local owed, gone = account(lock)
  local rest = {}
  for i = 1, #leavers do
    local left, had = leave_behind(lock, leavers[i].id)
    if not left then rest[#rest + 1] = leavers[i] elseif had then gone = gone + 1 end
  end
  put_on_account(lock, owed, gone)
  tail(lock)
  local length = redis.pcall('LLEN', lock.queue)
  if type(length) == 'number' and 2 * gone > length then sweep(lock, now) end
  return rest
end

-- Removes those leavers from the tail of a long queue behind which no other stands: they subtract nothing, and the
-- queue is not read for them. Returns the others, in their order.
local function leave_tail(lock, leavers)
  local rest = {}
  for i = #leavers, 1, -1 do
    local id = leavers[i].id
    if redis.pcall('LINDEX', lock.queue, '-1') == id then
      redis.pcall('RPOP', lock.queue)
      redis.pcall('ZREM', lock.times, id)
      redis.pcall('HDEL', lock.places, id)
    else
      table.insert(rest, 1, leavers[i])
    end
  end
  return rest
end

-- Removes from a long queue those leavers that subtract nothing, because others share their time or they have none. The
-- queue is not read for them. Returns the other leavers. A waiter without a time is never far from the ends for long.
local function leave_quickly(lock, leavers)
  local rest = {}
  for i = 1, #leavers do
    local it = leavers[i]
    local quick = type(it.time) ~= 'string'
    if quick then
      leave_end(lock, it.id)
    else
      local sharers = redis.pcall('ZCOUNT', lock.times, it.time, it.time)
      quick = type(sharers) == 'number' and sharers > 1 and leave_end(lock, it.id)
    end
    if quick then
      redis.pcall('ZREM', lock.times, it.id)
      redis.pcall('HDEL', lock.places, it.id)
    else
      rest[#rest + 1] = it
    end
  end
  return rest
end

-- Returns the queue, and the places of each leaver in it; a leaver has several only if a time was lost. The queue is
-- read once, and not at all if no leaver has a time.
local function stand(lock, leavers, known)
  local waiting, places = known and redis.pcall('LRANGE', lock.queue, '0', '-1') or {}, {}
  for i = 1, #leavers do places[leavers[i].id] = {} end
  for i = 1, #waiting do
    local own = places[waiting[i]]
    if own then own[#own + 1] = i end
  end
  return waiting, places
end

-- Returns what the leavers before, in the order of the call, subtract from the waiter at these places.
local function owed(gone, own)
  local by = 0
  for i = 1, #gone do
    for n = 1, #own do
      if gone[i].place < own[n] then by = by + gone[i].by end
    end
  end
  return by
end

-- Returns the count for LREM: how many to remove, negative if the tail is nearer. LREM stops after that many.
local function nearest(own, length)
  return text(#own > 0 and own[1] > length / 2 and -#own or #own)
end

-- Removes all leavers from a queue with the result of removing them one by one. The times of those that stay are changed
-- once.
local function leave(lock, leavers)
  local times, length = lock.times, redis.pcall('LLEN', lock.queue)
  local is_long = type(length) == 'number' and length > long
  if is_long and ours(lock, length) then leavers = leave_all_behind(lock, leavers) end
  if is_long then leavers = leave_tail(lock, leavers) end
  if #leavers == 0 then return end
  local known = ask(lock, leavers)
  if is_long then leavers = leave_quickly(lock, leavers) end
  if #leavers == 0 then return end
  local waiting, places = stand(lock, leavers, known)
  local gone, at = {}, {}
  -- First what needs no memory: when memory is short, the server lets a call that has written continue to write.
  for i = 1, #leavers do
    local it = leavers[i]
    local own = places[it.id]
    local stood = redis.pcall('ZREM', times, it.id)
    redis.pcall('HDEL', lock.places, it.id)
    redis.pcall('LREM', lock.queue, nearest(own, #waiting), it.id)
    if stood == 1 and #own > 0 and type(it.time) == 'string' and not has_same_time(times, it.time) then
      local by = unused_wait(it.time - owed(gone, own), it.wait, now)
      gone[#gone + 1] = {place = own[1], by = by}
      at[own[1]] = by
    end
  end
  local sum = 0
  for i = 1, #waiting do
    if sum > 0 and not places[waiting[i]] then subtract_wait(times, waiting[i], sum) end
    sum = sum + (at[i] or 0)
  end
end

-- The locks of the call, each with its leavers.
local locks = {}

local function release(i)
  local key, id = KEYS[4 * i - 3], ARGV[2 * i + 1]
  local removed = redis.pcall('HDEL', key, id)
  local lock = locks[key]
  if not lock then
    lock = {key = key, queue = KEYS[4 * i - 2], times = KEYS[4 * i - 1], places = KEYS[4 * i], leavers = {}}
    locks[key], locks[#locks + 1] = lock, lock
  end
  if removed == 1 then
    lock.released = i
  else
    -- Also where the server rejected HDEL: a tenure does not stay in the queue because the key has another type.
    lock.leavers[#lock.leavers + 1] = {id = id, wait = ARGV[2 * i + 2]}
  end
  return type(removed) == 'table' and removed.err or removed
end

local reply = {}
for i = 1, #KEYS / 4 do reply[i] = release(i) end
for i = 1, #locks do
  local lock = locks[i]
  if #lock.leavers > 0 then
    leave(lock, lock.leavers)
    age(lock, now)
  end
  local head, _, _, doubt = prune_dead(verb, lock, now)
  if lock.released or redis.pcall('EXISTS', lock.key) == 0 then
    local told = tell_next(verb, lock, now, head, doubt)
    if lock.released and not told then reply[lock.released] = 2 end
  end
end
return reply
