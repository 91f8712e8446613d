-- Takes many fair locks in one call, each for a tenure of its own, or queues for them.
--
-- KEYS  four per lock: its key, its queue, the times of those who wait, their places
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's clock, in ms since 1970
--       3: until when the call may take effect, by the server's clock, in ms since 1970: then those who wait have to
--       ask again within their wait; '' for a client that says neither, and counts by times alone
--       then four per lock: tenure id, lease in ms (at least 1: PEXPIRE deletes for less), how long it
--       waits in ms (at least 1; '' does not queue), the tenure of the same engine that asked before it and waits
--       as long ('' if there is none)
--       then any number of pairs: number of the lock, id of a ghost to release first
-- reply per key (1 alone if all are): 1 granted · {ttl in ms, holder, left, clock} held by someone else,
--       the ttl as of acquire; or free but another's turn, and then the holder is '' and the ttl what that one
--       has left. left is how long in ms this tenure has by its time, -1 if it does not stand in the queue. clock
--       is the server's, in ms since 1970, or the caller's where that may not be read · {clock} the call came too
--       late: it did nothing · a string: why the server refused
--
-- Sent twice: the second finds its own field, as of acquire, or its place in the queue, and keeps it. Sent
-- late: it does nothing, or the place it takes is nobody's when its wait is over.

local verb, now, locks = ARGV[1], tonumber(ARGV[2]), #KEYS / 4
local latest = ARGV[3] ~= '' and tonumber(ARGV[3])

if latest and clock(now) > latest then
  local late = {}
  for i = 1, locks do late[i] = {clock(now)} end
  return late
end

-- Redisson's fairLockWaitTimeout, in ms: what a client adds that says nothing else, and takes back.
local theirs = 300000

-- A head that asks is alive, and waits only because the lock is held for longer than it seemed: all times
-- are put off together, so that what stands between them stays. Returns its time, or the table of an error.
local function put_off(times, time, wait, ttl)
  local by = now + math.max(ttl, 0) + wait - time
  if by <= wait / 8 then return time end
  return shift(times, by) or time + by
end

-- Whoever shares the time of a head that nobody asks for any more would die with it. It asks, so it is alive, and
-- has its wait from the head's time on, as all behind that head do. Returns its time, or the table of an error.
local function outlive(times, head, time, wait)
  if time - now > wait / 4 then return time end
  local by = math.max(wait, now + wait - time)
  local failed = shift(times, by)
  if failed then return failed end
  take_back(times, head, by)
  return time + by
end

-- Keeps a place up for as long as it waits from now on.
local function keep(lock, id, wait, added, time)
  if latest then redis.pcall('HSET', lock.places, id, text(clock(now) + wait) .. ':' .. text(added) .. ':' .. text(wait)) end
  age(lock, math.max(wait, time - now))
end

local function grant(lock, id, lease, head, time, wait)
  local created = create(lock.key, id, lease)
  if created ~= 1 or not head then return created end
  local _, added = kept(lock, id)
  redis.pcall('LPOP', lock.queue)
  redis.pcall('ZREM', lock.times, id)
  if added then redis.pcall('HDEL', lock.places, id) end
  age(lock)
  added = added or tonumber(wait)
  if added and not shared(lock.times, text(time)) then shift(lock.times, -unused(time, added, now)) end
  return 1
end

-- Behind a place that its engine does not keep up, as Redisson's are, it adds as much as Redisson would: when that one
-- is granted its wait is taken from this one's time, of which Redisson must not think that it is over.
-- Returns until when it counts as alive, or the table of an error.
local function enqueue(lock, id, wait, ttl, behind)
  local last = redis.pcall('LINDEX', lock.queue, '-1')
  local time = last and last ~= id and redis.pcall('ZSCORE', lock.times, last)
  if type(time) == 'table' then return time end
  local adds = wait
  if time then
    ttl = math.max(tonumber(time) - now, 0)
    local _, added = kept(lock, last)
    if last == behind and ttl >= wait then
      adds, ttl = added or wait, ttl - (added or wait)
    elseif latest and not added then
      adds = math.max(wait, theirs)
    end
  end
  ttl = ttl + adds
  time = now + ttl
  local added = redis.pcall('ZADD', lock.times, text(time), id)
  if type(added) == 'table' then return added end
  local length = redis.pcall('RPUSH', lock.queue, id)
  if type(length) == 'table' then
    redis.pcall('ZREM', lock.times, id)
    return length
  end
  keep(lock, id, wait, adds, time)
  return time
end

-- Takes the time away of somebody who has no place, and reports whether that was so.
local function forget(lock, id)
  if redis.pcall('LPOS', lock.queue, id) then return false end
  redis.pcall('ZREM', lock.times, id)
  redis.pcall('HDEL', lock.places, id)
  return true
end

-- The time of somebody who stands in a queue; false without one, or the table of an error. More times than places are
-- left where a list was lost: those that are over go, some at a time, and whoever has one and no place has none.
local function stands(lock, id)
  local time = redis.pcall('ZSCORE', lock.times, id)
  if type(time) == 'table' then return time end
  local alive, places = redis.pcall('ZCARD', lock.times), redis.pcall('LLEN', lock.queue)
  if type(alive) == 'table' then return alive end
  if type(places) == 'table' then return places end
  if alive <= places then return time end
  local first = redis.pcall('ZRANGE', lock.times, '0', text(strays - 1), 'WITHSCORES')
  for i = 1, #first, 2 do
    if tonumber(first[i + 1]) <= now and first[i] ~= id then forget(lock, first[i]) end
  end
  return not (time and forget(lock, id)) and time
end

local function take(lock, id, lease, wait, behind)
  local ttl = redis.pcall('PTTL', lock.key)
  if type(ttl) == 'table' then return ttl.err end
  local head, alive, left = prune(verb, lock, now, id)
  if type(head) == 'table' then return head.err end
  local waits = tonumber(wait)
  local time = head and waits and stands(lock, id)
  if type(time) == 'table' then return time.err end
  if time then
    time = head == id and put_off(lock.times, alive, waits, ttl) or head ~= id and outlive(lock.times, head, tonumber(time), waits)
    if type(time) == 'table' then return time.err end
  end
  if ttl == -2 and (not head or head == id) then
    return grant(lock, id, lease, head, time or alive, wait)
  end
  local answer = {ttl, ''}
  if ttl ~= -2 then
    answer = present(lock.key, id, lease, ttl)
    if type(answer) ~= 'table' then return answer end
  end
  if time then
    local _, added = kept(lock, id)
    keep(lock, id, waits, added or waits, tonumber(time))
  elseif waits then
    time = enqueue(lock, id, waits, ttl, behind)
    if type(time) == 'table' then return time.err end
  end
  if ttl == -2 then answer[1] = integer(left) end
  answer[3] = time and integer(time - now) or -1
  answer[4] = clock(now)
  return answer
end

local function lock_of(i) return {key = KEYS[4 * i - 3], queue = KEYS[4 * i - 2], times = KEYS[4 * i - 1], places = KEYS[4 * i]} end

for at = 4 + 4 * locks, #ARGV, 2 do
  local lock = lock_of(tonumber(ARGV[at]))
  if redis.pcall('HDEL', lock.key, ARGV[at + 1]) == 1 then
    local head, _, _, doubt = prune(verb, lock, now)
    tell_next(verb, lock, now, head, doubt)
  end
end

local reply
for i = 1, locks do
  local at = 4 * i
  local answer = take(lock_of(i), ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  if reply or answer ~= 1 then reply = noted(reply, i, answer) end
end
return reply or 1
