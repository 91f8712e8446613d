-- Acquires many fair locks in one call, each for a tenure of its own, or puts the tenures into the queues.
--
-- KEYS  four per lock: its key, its queue, the times of its waiters, their places
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's clock, in ms since 1970
--       3: the last moment at which the call may take effect, by the server's clock, in ms since 1970; waiters then
--       have to ask again within their wait. '' for a client without places, which counts by times alone
--       then four per lock: tenure id, lease in ms (at least 1: PEXPIRE deletes for less), its wait in ms (at
--       least 1; '' does not queue), the tenure of the same engine that asked before it and has the same wait ('' if
--       there is none)
--       then any number of pairs: number of the lock, id of an orphan to release first
-- reply per key (1 alone if all are): 1 granted · {ttl in ms, holder, left, clock} not granted · {clock} the call
--       came too late and did nothing · a string: why the server rejected it; a list for a key that is no hash, as of acquire
--       - held by another tenure: ttl and holder as of acquire
--       - free, but another waiter is first: holder is '', and ttl is what that waiter has left
--       - left is how long this tenure has by its time, in ms; -1 if it is not in the queue
--       - clock is the server's, in ms since 1970, or the caller's if the user may not run TIME
--
-- Sent twice: the second copy finds its own field, as of acquire, or its place in the queue, and keeps it.
-- Sent late: it does nothing, or takes a place without a waiter, which ends with its wait.

local verb, now, locks = ARGV[1], tonumber(ARGV[2]), #KEYS / 4
local latest = ARGV[3] ~= '' and tonumber(ARGV[3])

if latest and clock(now) > latest then
  local late = {}
  for i = 1, locks do late[i] = {clock(now)} end
  return late
end

-- Redisson's default fairLockWaitTimeout, in ms: Redisson's clients add it to the times, and subtract it again.
local theirs = 300000

-- Handles a head that asks: it is alive, and waits only because the lock is held for longer than expected. Moves the
-- times of all waiters by the same amount, which keeps their distances. Returns the head's time, or the table of an
-- error.
local function put_off(times, time, wait, ttl)
  local by = now + math.max(ttl, 0) + wait - time
  if by <= wait / 8 then return time end
  return shift_times(times, by) or time + by
end

-- Handles a waiter behind the head with at most a quarter of its wait left by its time. It may share the head's time, and
-- would expire together with a head that no longer asks. The waiter asks, so it is alive: it and all others behind the
-- head get its wait in addition, counted from the head's time. The head's own time stays. Returns the waiter's time, or the
-- table of an error.
local function outlive(times, head, time, wait)
  if time - now > wait / 4 then return time end
  local by = math.max(wait, now + wait - time)
  local failed = shift_times(times, by)
  if failed then return failed end
  subtract_wait(times, head, by)
  return time + by
end

-- Handles a waiter that would add more if it came now: its wait grew, or a place that no engine keeps alive is in front
-- of it, since one between them left. Those in front subtract what they added, and would leave it too little. Moves its
-- time and all behind until it is as far behind the one in front as a new waiter. A call moves as many times as a long
-- queue has, over all its tenures; what is beyond that stays as it is until a later call. Returns the time, and what the
-- place adds now, or the table of an error.
local movable = long
local function grow(lock, time, wait, added)
  if added >= math.max(wait, theirs) then return time, added end
  local before = redis.pcall('ZCOUNT', lock.times, '-inf', '(' .. text(time))
  if type(before) == 'table' or before == 0 then return time, added end
  local front = redis.pcall('ZRANGE', lock.times, text(before - 1), text(before - 1), 'WITHSCORES')
  if front.err then return time, added end
  local adds = kept(lock, front[1]) and wait or math.max(wait, theirs)
  if adds <= added then return time, added end
  local by = adds - (time - front[2])
  if by > 0 then
    local count = redis.pcall('ZCARD', lock.times)
    if type(count) == 'table' or count - before > movable then return time, added end
    movable = movable - (count - before)
    local failed = shift_times(lock.times, by, before)
    if failed then return failed end
  end
  return time + math.max(by, 0), adds
end

-- Gives a place life for its wait from now on. Returns nothing, or the table of an error.
local function give_life(lock, id, wait, added)
  local set = latest and redis.pcall('HSET', lock.places, id, text(clock(now) + wait) .. ':' .. text(added) .. ':' .. text(wait))
  if type(set) == 'table' then return set end
end

-- Keeps a place alive for its wait from now on.
local function keep(lock, id, wait, added, time)
  give_life(lock, id, wait, added)
  age(lock, now, math.max(wait, time - now))
end

local function grant(lock, id, lease, head, time, wait)
  local created = create(lock.key, id, lease)
  if created ~= 1 or not head then return created end
  local _, added = kept(lock, id)
  redis.pcall('LPOP', lock.queue)
  redis.pcall('ZREM', lock.times, id)
  if added then redis.pcall('HDEL', lock.places, id) end
  age(lock, now)
  added = added or tonumber(wait)
  if added and not has_same_time(lock.times, text(time)) then shift_times(lock.times, -unused_wait(time, added, now)) end
  return 1
end

-- Appends the tenure to the queue. Behind a place that no engine keeps alive, such as one of Redisson's, it adds at least
-- what Redisson would add. When that place is granted the lock, Redisson subtracts its wait from this tenure's time,
-- which must not look expired to Redisson then. Returns until when the tenure is considered alive, or the table of an
-- error.
local function enqueue(lock, id, wait, ttl, behind)
  local last, added_last = tail(lock)
  local time = last and last ~= id and redis.pcall('ZSCORE', lock.times, last)
  if type(time) == 'table' then return time end
  local adds = wait
  if time then
    ttl = math.max(tonumber(time) - now, 0)
    if last == behind and ttl >= wait and (added_last or wait) >= wait then
      adds, ttl = added_last or wait, ttl - (added_last or wait)
    elseif latest and not added_last then
      adds = math.max(wait, theirs)
    end
  end
  time = now + ttl + adds
  -- A place without a life would live by its time, for minutes behind another such place.
  local failed = give_life(lock, id, wait, adds)
  if failed then return failed end
  local added = redis.pcall('ZADD', lock.times, text(time), id)
  if type(added) == 'table' then
    redis.pcall('HDEL', lock.places, id)
    return added
  end
  local length = redis.pcall('RPUSH', lock.queue, id)
  if type(length) == 'table' then
    redis.pcall('ZREM', lock.times, id)
    redis.pcall('HDEL', lock.places, id)
    return length
  end
  age(lock, now, math.max(wait, time - now))
  return time
end

-- Removes the time of a tenure that has no place in the queue, and reports whether it had none.
local function forget(lock, id)
  if redis.pcall('LPOS', lock.queue, id) then return false end
  redis.pcall('ZREM', lock.times, id)
  redis.pcall('HDEL', lock.places, id)
  return true
end

-- Returns the time of a tenure that is in the queue, false if it is not, or the table of an error. More times than
-- places remain where a list was lost. Then expired times without a place are removed, up to strays per call, and so is
-- this tenure's time if it has no place.
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

-- Handles a waiter behind the head that asks. Returns its time, and what its place adds if an engine keeps it alive, or the
-- table of an error.
local function stay(lock, id, head, time, wait)
  local _, added = kept(lock, id)
  if added then
    time, added = grow(lock, time, wait, added)
    if type(time) == 'table' then return time end
  end
  return outlive(lock.times, head, time, wait), added
end

local function acquire_one(lock, id, lease, wait, behind)
  local ttl = redis.pcall('PTTL', lock.key)
  if type(ttl) == 'table' then return ttl.err end
  local head, alive, left, _, pruned = prune_dead(verb, lock, now, id)
  if type(head) == 'table' then return head.err end
  if pruned and ttl == -2 and head ~= id then publish_to(verb, lock.key, head) end
  local waits = tonumber(wait)
  local time = head and waits and stands(lock, id)
  if type(time) == 'table' then return time.err end
  local added
  if time then
    if head == id then time = put_off(lock.times, alive, waits, ttl) else time, added = stay(lock, id, head, tonumber(time), waits) end
    if type(time) == 'table' then return time.err end
  end
  if ttl == -2 and (not head or head == id) then
    return grant(lock, id, lease, head, time or alive, wait)
  end
  local answer = {ttl, ''}
  if ttl ~= -2 then
    answer = try_existing(lock.key, id, lease, ttl)
    if type(answer) ~= 'table' or type(answer[1]) ~= 'number' then return answer end
  end
  if time then
    if head == id then added = select(2, kept(lock, id)) end
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
    local head, _, _, doubt = prune_dead(verb, lock, now)
    tell_next(verb, lock, now, head, doubt)
  end
end

local reply
for i = 1, locks do
  local at = 4 * i
  local answer = acquire_one(lock_of(i), ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
end
return reply or 1
