-- Releases many tenures of fair locks in one call, or takes them out of the queue, and tells whoever is
-- next.
--
-- KEYS  four per lock: its key, its queue, the times of those who wait, their places
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's clock, in ms since 1970
--       then a pair per lock: tenure id, how long it waits in ms as it was said when it queued ('' if
--       that is not known); what its place says that it added comes before that
-- reply per key: 1 released · 2 released, but the server refused the message · 0 gone: the tenure did not
--       hold the lock · a string: why the server refused
--
-- Sent twice or late: the field of that tenure and its place are gone and never come back. While the lock
-- is free, the head that is left is told, once a call, which costs it one more try.

local verb, now = ARGV[1], tonumber(ARGV[2])

-- Who leaves a longer queue is looked for among so many at each of its ends first: to read all of it is dear.
local long = 1000

-- Takes somebody out of a long queue who stands near one of its ends, and reports whether it did.
local function leave_end(lock, id)
  for _, from in ipairs({'1', '-1'}) do
    local at = redis.pcall('LPOS', lock.queue, id, 'RANK', from, 'MAXLEN', text(long))
    if type(at) == 'number' then return redis.pcall('LREM', lock.queue, from, id) == 1 end
  end
  return false
end

-- What each of those who leave waits, and its time; false without one.
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

-- Takes those out of a long queue who leave no time to be taken back, because others share it or they have none: for them
-- the queue is not read. Returns the others. Without a time nobody stands far from its ends for long.
local function leave_quickly(lock, leavers)
  local length = redis.pcall('LLEN', lock.queue)
  if type(length) == 'table' or length <= long then return leavers end
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

-- Where those who leave stand in the queue: of each the places, of which there are several only if a time was
-- lost. A queue is read once, and not at all if nobody who leaves has a time to take back.
local function stand(lock, leavers, known)
  local waiting, places = known and redis.pcall('LRANGE', lock.queue, '0', '-1') or {}, {}
  for i = 1, #leavers do places[leavers[i].id] = {} end
  for i = 1, #waiting do
    local own = places[waiting[i]]
    if own then own[#own + 1] = i end
  end
  return waiting, places
end

-- What those who went before, in the order of the call, take back from whoever has these places.
local function owed(gone, own)
  local by = 0
  for i = 1, #gone do
    for n = 1, #own do
      if gone[i].place < own[n] then by = by + gone[i].by end
    end
  end
  return by
end

-- How many of it LREM is to take out, from the end to which they are nearer: it goes no further then.
local function nearest(own, length)
  return text(#own > 0 and own[1] > length / 2 and -#own or #own)
end

-- Takes all who leave a queue out of it, as if one after the other, but whoever stays gives back once.
local function leave(lock, leavers)
  local times = lock.times
  local known = ask(lock, leavers)
  leavers = leave_quickly(lock, leavers)
  if #leavers == 0 then return end
  local waiting, places = stand(lock, leavers, known)
  local gone, at = {}, {}
  -- First what needs no memory: short of it, the server lets a call write on that has written.
  for i = 1, #leavers do
    local it = leavers[i]
    local own = places[it.id]
    local stood = redis.pcall('ZREM', times, it.id)
    redis.pcall('HDEL', lock.places, it.id)
    redis.pcall('LREM', lock.queue, nearest(own, #waiting), it.id)
    if stood == 1 and #own > 0 and type(it.time) == 'string' and not shared(times, it.time) then
      local by = unused(it.time - owed(gone, own), it.wait, now)
      gone[#gone + 1] = {place = own[1], by = by}
      at[own[1]] = by
    end
  end
  local sum = 0
  for i = 1, #waiting do
    if sum > 0 and not places[waiting[i]] then take_back(times, waiting[i], sum) end
    sum = sum + (at[i] or 0)
  end
end

-- The locks of the call, each with those who leave its queue.
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
    -- Also where the server refused: a key of another type is no reason to stay in the queue.
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
    age(lock)
  end
  local head, _, _, doubt = prune(verb, lock, now)
  if lock.released or redis.pcall('EXISTS', lock.key) == 0 then
    local told = tell_next(verb, lock, now, head, doubt)
    if lock.released and not told then reply[lock.released] = 2 end
  end
end
return reply
