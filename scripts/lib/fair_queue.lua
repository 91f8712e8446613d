-- Put before the scripts of the fair lock: its queue, as Redisson keeps it. A list has the ids of the waiters in the
-- order in which they came. A sorted set, the times, says until when each of them is considered alive, in ms since 1970
-- by the callers' clocks. Redisson sets no TTL on either key and would never prolong one. So both have a TTL only while
-- all places in the queue are lockwheel's; then nothing remains where engines die.
--
-- A hash that only lockwheel has, the places, always has a TTL. For each place that an engine keeps alive it records:
-- - until when the place is alive, in ms since 1970 by the server's clock
-- - what the place added to the times behind it, in ms
-- - the place's life, in ms
--
-- Such a place is alive until then, whatever its time is. Times are for clients that do not know the hash, and decide
-- about the places of those clients.

-- How many places a call takes off the head of a queue at most, and how many times without a place it looks at.
local most, strays = 200, 16

-- How much longer the hash of places lives than the places in it, in ms. The margin covers a server that stood still and
-- callers that did not ask for long: without it, places of lockwheel would be taken for Redisson's, which live for five
-- minutes and add as much. Queue and times live as long as the hash. If three Redisson clients queue when all of
-- lockwheel's places are dead, each has had its five minutes when the keys expire.
local after = 900000

-- Returns the server's clock, or the caller's if the user may not run TIME. It runs TIME at most once per call,
-- when first needed.
local known
local function clock(now)
  if not known then
    local time = redis.pcall('TIME')
    known = time.err and now or 1000 * time[1] + math.floor(time[2] / 1000)
  end
  return known
end

-- Notifies the head only. Reports whether the server allowed it.
local function tell(verb, key, head)
  if not head then return true end
  return type(head) == 'string' and type(redis.pcall(verb, channel(key) .. ':' .. head, '0')) == 'number'
end

local function text(number) return string.format('%.0f', number) end

-- Clamps a number to what a reply can hold. Numbers that other clients wrote can exceed any integer, and would be negative
-- in a reply. One that exceeds any number is nil in the embedded server of the tests.
local far = 2 ^ 53
local function integer(number) return math.min(tonumber(number) or far, far) end

-- Returns until when a place is alive, what it added to the times, and its life; nothing if no engine keeps it alive.
local function kept(lock, id)
  local words = redis.pcall('HGET', lock.places, id)
  if type(words) ~= 'string' then return end
  local till, added, life = string.match(words, '^(%d+):(%d+):(%d+)$')
  if till then return integer(till), integer(added), integer(life) end
end

-- Returns the same, and whether more than its life was left, as after the server's clock was set back. Such a place is
-- shortened: it ends within its life from now on.
local function kept_for_its_life(lock, id, now)
  local till, added, life = kept(lock, id)
  if not till or till - clock(now) <= life then return till, added, life, false end
  till = clock(now) + life
  redis.pcall('HSET', lock.places, id, text(till) .. ':' .. text(added) .. ':' .. text(life))
  return till, added, life, true
end

-- Shortens the places behind a head that had more than its life left. Dead places of the same time end together then,
-- and not one after the other.
local function end_together(lock, now)
  local ids = redis.pcall('LRANGE', lock.queue, '1', text(most))
  for i = 1, #ids do kept_for_its_life(lock, ids[i], now) end
end

-- Reports whether all places of a queue, count of them, are lockwheel's. It judges by the numbers and the head only:
-- Redisson removes a dead place of lockwheel from the queue, but not from the hash. The hash may also have one field
-- that is no place, see debt.
local function ours(lock, count)
  local fields, head = redis.pcall('HLEN', lock.places), redis.pcall('LINDEX', lock.queue, '0')
  if type(fields) == 'table' or type(head) ~= 'string' or not kept(lock, head) then return false end
  return fields == count or fields == count + 1 and redis.pcall('HGET', lock.places, '')
end

-- Sets the TTLs after a change of the queue. left is how long, in ms, until the tenure of this change is considered dead;
-- without left no TTL is set. Queue, times and places live for longer than that. All three get the same TTL, so the
-- order in which they are read does not matter. If one place is not lockwheel's, queue and times have no TTL.
local function age(lock, left)
  local count = redis.pcall('LLEN', lock.queue)
  if type(count) == 'table' or count == 0 then return end
  local all, enough = ours(lock, count), left and left + after / 2
  if not all then
    redis.pcall('PERSIST', lock.queue)
    redis.pcall('PERSIST', lock.times)
  end
  if not left then return end
  local ttl = redis.pcall('PTTL', lock.places)
  if type(ttl) == 'table' or ttl == -2 or ttl >= enough and (not all or redis.pcall('PTTL', lock.queue) >= enough) then return end
  local longest = text(math.max(left + after, ttl))
  redis.pcall('PEXPIRE', lock.places, longest)
  if not all then return end
  redis.pcall('PEXPIRE', lock.queue, longest)
  redis.pcall('PEXPIRE', lock.times, longest)
end

-- Reports whether a place is doubtful: its engine should have kept it alive by now, which it does after a third of its life.
local function doubtful(till, life, now) return till and till - clock(now) < life * 5 / 8 end

-- Notifies the head that the lock is free. If the head is doubtful, it also notifies places behind it, until one is not
-- doubtful. That waiter sees that the lock is free, and tries again when those before it are dead. It notifies the first
-- eight, then at doubled distances, at most 24 behind the head. Reports whether the server allowed the first message.
local function tell_next(verb, lock, now, head, doubt)
  local told = tell(verb, lock.key, head)
  if not told or not doubt then return told end
  local at = 0
  for step = 1, 24 do
    if step <= 8 then at = step else at = 2 * at end
    local id = redis.pcall('LINDEX', lock.queue, text(at))
    if not id then id = redis.pcall('LINDEX', lock.queue, '-1') end
    if type(id) ~= 'string' or id == head then return told end
    tell(verb, lock.key, id)
    local till, _, life = kept_for_its_life(lock, id, now)
    if not doubtful(till, life, now) then return told end
    head = id
  end
  return told
end

-- Returns what a waiter that leaves subtracts from the times behind it. Its wait was added to all of them. It subtracts
-- at most what it has left of its wait, or those behind would be considered dead.
local function unused(time, wait, now) return math.max(math.min(tonumber(wait), tonumber(time) - now), 0) end

local function take_back(times, id, by) redis.pcall('ZADD', times, 'XX', 'INCR', '-' .. text(by), id) end

-- Reports whether another waiter has this time, where time is that of a waiter that has left. Consecutive waiters of one
-- engine with equal waits share one time: they expire together, unless one of them asks, and their wait was added once.
-- So the last of them to leave subtracts it, and a grant to any other leaves all times as they are.
local function shared(times, time) return redis.pcall('ZCOUNT', times, time, time) ~= 0 end

-- Moves the times of all waiters, up to 250 per command. Returns nothing, or the table of an error.
local function shift(times, by)
  local waiting = redis.pcall('ZRANGE', times, '0', '-1', 'WITHSCORES')
  for first = 1, #waiting, 500 do
    local args = {}
    for i = first, math.min(first + 499, #waiting), 2 do
      args[#args + 1] = text(tonumber(waiting[i + 1]) + by)
      args[#args + 1] = waiting[i]
    end
    local set = redis.pcall('ZADD', times, 'XX', unpack(args))
    if type(set) == 'table' then return set end
  end
end

-- Removes times and places of a queue without a list: a time without a place is none. Notifies up to 100 of those that
-- had a time; they come again. The others come again when they next have to show that they are alive. Returns nothing,
-- or the table of an error.
local function forget_times(verb, lock)
  if redis.pcall('EXISTS', lock.times, lock.places) == 0 then return end
  local ids = redis.pcall('ZRANGE', lock.times, '0', '99')
  if ids.err then return ids end
  local removed = delete(redis.pcall('ZCARD', lock.times), lock.times, lock.places)
  if type(removed) == 'table' then return removed end
  for i = 1, #ids do tell(verb, lock.key, ids[i]) end
end

-- Returns what is still to be subtracted from all times, because earlier calls took places off the head and left dead
-- ones behind them. To move the times of all in each of those calls would make the work quadratic. The debt is kept in
-- the hash of places under the empty name, which no place has.
local function debt(lock) return tonumber(redis.pcall('HGET', lock.places, '') or 0) or 0 end

local function put_on_account(lock, owed)
  if owed <= 0 then return end
  redis.pcall('HSET', lock.places, '', text(owed))
  if redis.pcall('PTTL', lock.places) == -1 then redis.pcall('PEXPIRE', lock.places, text(after)) end
end

-- Takes dead places off the head, and those without a time, because nothing else would remove them. asks is the tenure
-- that asks now (nil for none), which is alive. A place without a time may be alive too: its waiter is notified
-- and comes again. What the removed places of lockwheel have left of their waits is subtracted once, for all of them.
--
-- Returns the head, its time, how many ms longer it is considered alive, and whether it is doubtful. 0 ms means that
-- the call has removed the most it may and leaves more dead places to the next call. Returns false without a head, or
-- the table of an error.
local function prune(verb, lock, now, asks)
  local owed, count = 0, 0 -- count: how many places the call has taken off
  local looked = false -- whether it has looked behind a head that had more than its life left
  local function done(head, time, left, doubt)
    local failed = owed > 0 and shift(lock.times, -owed)
    if failed then return failed end
    if owed > 0 then redis.pcall('HDEL', lock.places, '') end
    if count > 0 then age(lock) end
    return head, time, left, doubt
  end
  while true do
    local head = redis.pcall('LINDEX', lock.queue, '0')
    if type(head) == 'table' then return head end
    if not head then return forget_times(verb, lock) or false end
    local time = redis.pcall('ZSCORE', lock.times, head)
    if type(time) == 'table' then return time end
    time = time and tonumber(time) - owed
    if time and head == asks then return done(head, time, time - now) end
    local till, added, life, ahead = kept_for_its_life(lock, head, now)
    if ahead and not looked then
      looked = true
      end_together(lock, now)
    end
    local left = time and (till and till - clock(now) or time - now)
    if left and left > 0 then return done(head, time, left, doubtful(till, life, now)) end
    count = count + 1
    if count == 1 then
      owed = debt(lock)
      time = time and time - owed
    end
    if count > most then
      put_on_account(lock, owed)
      age(lock)
      return head, time or now, 0, true
    end
    local taken = redis.pcall('LPOP', lock.queue)
    if type(taken) == 'table' then return taken end
    if till then redis.pcall('HDEL', lock.places, head) end
    if not time then
      tell(verb, lock.key, head)
    else
      redis.pcall('ZREM', lock.times, head)
      if till and not shared(lock.times, text(time + owed)) then owed = owed + unused(time, added, now) end
    end
  end
end
