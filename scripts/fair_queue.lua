-- Put before the scripts of the fair lock: its queue, as Redisson keeps it. A list has the ids of those
-- who wait in the order in which they came; a sorted set says for each until when it counts as alive, in
-- ms since 1970 by the callers' clocks. Redisson gives neither a TTL, and never would prolong one: they have one only
-- while all places are ours, so that nothing stays where engines die.
--
-- A hash of ours, which always has one, says of each place that its engine keeps up until when that is so, in ms since 1970
-- by the server's clock, what the place added to the times behind it, and how long it lives. Such a place is alive as
-- long as that says, whatever its time is: times are for clients that do not know the hash, and count for their places.

-- How many places a call takes off the head of a queue at most, and how many it looks at that are in no queue.
local most, strays = 200, 16

-- How much longer than the places in it the hash of places lives, in ms: a server that stood still for long, or callers who
-- stayed away, do not turn places of ours into places of Redisson, which live for five minutes and add as much. So do queue
-- and times: three of Redisson that come when all of ours are dead have had their five minutes before.
local after = 900000

-- The server's clock, or the caller's if that one may not be read. Scripts that need it not do not ask.
local known
local function clock(now)
  if not known then
    local time = redis.pcall('TIME')
    known = time.err and now or 1000 * time[1] + math.floor(time[2] / 1000)
  end
  return known
end

-- Only the head is told. Reports whether the server allowed it.
local function tell(verb, key, head)
  if not head then return true end
  return type(head) == 'string' and type(redis.pcall(verb, channel(key) .. ':' .. head, '0')) == 'number'
end

local function text(number) return string.format('%.0f', number) end

-- Numbers that others wrote can be larger than any integer, which would be a negative one in an answer, and than any number,
-- which the server inside a test then calls none.
local far = 2 ^ 53
local function integer(number) return math.min(tonumber(number) or far, far) end

-- Until when a place is kept up, what it added to the times, and how long it lives; nothing if no engine keeps it up.
local function kept(lock, id)
  local words = redis.pcall('HGET', lock.places, id)
  if type(words) ~= 'string' then return end
  local till, added, life = string.match(words, '^(%d+):(%d+):(%d+)$')
  if till then return integer(till), integer(added), integer(life) end
end

-- The same of a place that is looked at, and whether more was left of it than it lives, as where the server's clock was set
-- back: then it ends within its life from now on.
local function kept_for_its_life(lock, id, now)
  local till, added, life = kept(lock, id)
  if not till or till - clock(now) <= life then return till, added, life, false end
  till = clock(now) + life
  redis.pcall('HSET', lock.places, id, text(till) .. ':' .. text(added) .. ':' .. text(life))
  return till, added, life, true
end

-- Behind a head of which more was left than it lives, others of the same time may be dead: they end together with it, and not
-- one after the other.
local function end_together(lock, now)
  local ids = redis.pcall('LRANGE', lock.queue, '1', text(most))
  for i = 1, #ids do kept_for_its_life(lock, ids[i], now) end
end

-- Whether all of so many places in a queue are ours, as far as numbers and its head say: Redisson takes a dead one of
-- ours out of the queue, and not out of the hash. The hash may have a field that is no place.
local function ours(lock, count)
  local fields, head = redis.pcall('HLEN', lock.places), redis.pcall('LINDEX', lock.queue, '0')
  if type(fields) == 'table' or type(head) ~= 'string' or not kept(lock, head) then return false end
  return fields == count or fields == count + 1 and redis.pcall('HGET', lock.places, '')
end

-- After each change of a queue: who has left in it, in ms, until it counts as dead, sees to it that queue, times and places
-- live for longer, and all three for as long, in whatever order their TTLs are read. One place that is not ours, and
-- queue and times have none. Without left no TTL is set.
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

-- A place that should have been kept up by now, at a third of its life, is doubtful.
local function doubtful(till, life, now) return till and till - clock(now) < life * 5 / 8 end

-- Tells the head that the lock is free, and behind one that is doubtful the next ones, until one is not: it
-- sees that the lock is free, and looks again when the others are dead. Far behind it tells fewer and fewer, and no
-- more than 24 in all.
-- Reports whether the server allowed it.
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

-- What somebody waits is added to the times of all behind, and taken back when that one goes: never more
-- than it has left of it, or those behind would count as dead.
local function unused(time, wait, now) return math.max(math.min(tonumber(wait), tonumber(time) - now), 0) end

local function take_back(times, id, by) redis.pcall('ZADD', times, 'XX', 'INCR', '-' .. text(by), id) end

-- Whoever queues right behind another one of its engine that waits as long shares its time: they count as dead
-- together, unless one of them asks, and added their wait once. So the last of them takes it back, and a grant to any
-- other one leaves all times as they are. time is that of somebody who has gone.
local function shared(times, time) return redis.pcall('ZCOUNT', times, time, time) ~= 0 end

-- Moves the times of all, many in a command. Returns nothing, or the table of an error.
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

-- Without a list there is no queue: a time without a place is none. Those who had one are told, some of them,
-- and come again; the others do when they are to say that they are alive. Returns nothing, or the table of an error.
local function forget_times(verb, lock)
  if redis.pcall('EXISTS', lock.times, lock.places) == 0 then return end
  local ids = redis.pcall('ZRANGE', lock.times, '0', '99')
  if ids.err then return ids end
  local removed = delete(redis.pcall('ZCARD', lock.times), lock.times, lock.places)
  if type(removed) == 'table' then return removed end
  for i = 1, #ids do tell(verb, lock.key, ids[i]) end
end

-- What is still to be taken back because of places that calls before this one took off the head, and left dead ones
-- behind them: to move the times of all each time would be the square of the work. It is kept beside the places, where
-- no place has an empty name.
local function debt(lock) return tonumber(redis.pcall('HGET', lock.places, '') or 0) or 0 end

local function put_on_account(lock, owed)
  if owed <= 0 then return end
  redis.pcall('HSET', lock.places, '', text(owed))
  if redis.pcall('PTTL', lock.places) == -1 then redis.pcall('PEXPIRE', lock.places, text(after)) end
end

-- Takes those off the head who are dead, or who have no time, because nothing else ever would. Who has
-- none may be alive: it is told, and comes again. Whoever asks is alive. What those who were kept up have left of their
-- waits is taken back once, for all of them. Returns the head, its time, how much longer it counts as
-- alive (not at all if the call has done enough and leaves more of them to the next), and whether it is doubtful. false
-- without a head, or the table of an error.
local function prune(verb, lock, now, asks)
  local owed, count = 0, 0 -- and how many it has taken off
  local looked = false -- behind a head of which too much was left
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
