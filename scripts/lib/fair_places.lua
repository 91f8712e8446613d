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

-- Returns what one field of the hash, under the empty name that no place has, is to remind of; and whether there is that
-- field. owed is what is still to be subtracted from all times, because earlier calls took places off the head and left
-- dead ones behind them: to move the times of all in each of those calls would make the work quadratic. gone is how many
-- places waiters left behind in the queue, see fair_gone.lua.
local function account(lock)
  local words = redis.pcall('HGET', lock.places, '')
  if type(words) ~= 'string' then return 0, 0, false end
  local owed, gone = string.match(words, '^(%d+):?(%d*)$')
  return tonumber(owed) or 0, tonumber(gone) or 0, true
end

local function put_on_account(lock, owed, gone)
  if owed <= 0 and gone <= 0 then
    redis.pcall('HDEL', lock.places, '')
    return
  end
  redis.pcall('HSET', lock.places, '', text(math.max(owed, 0)) .. ':' .. text(math.max(gone, 0)))
  if redis.pcall('PTTL', lock.places) == -1 then redis.pcall('PEXPIRE', lock.places, text(after)) end
end

-- Reports whether all places of a queue, count of them, are lockwheel's, and how many of these waiters left behind. It
-- judges by the numbers and the head only: Redisson removes a dead place of lockwheel from the queue, but not from the
-- hash.
local function ours(lock, count)
  local fields, head = redis.pcall('HLEN', lock.places), redis.pcall('LINDEX', lock.queue, '0')
  if type(fields) == 'table' then return false, 0 end
  local _, gone, reminds = account(lock)
  if type(head) ~= 'string' or not kept(lock, head) then return false, gone end
  return fields == count + (reminds and 1 or 0), gone
end

-- Returns what a waiter that leaves subtracts from the times behind it. Its wait was added to all of them. It subtracts
-- at most what it has left of its wait, or those behind would be considered dead.
local function unused_wait(time, wait, now) return math.max(math.min(tonumber(wait), tonumber(time) - now), 0) end

local function subtract_wait(times, id, by) redis.pcall('ZADD', times, 'XX', 'INCR', '-' .. text(by), id) end

-- Reports whether another waiter has this time, where time is that of a waiter that has left. Consecutive waiters of one
-- engine with equal waits share one time: they expire together, unless one of them asks, and their wait was added once.
-- So the last of them to leave subtracts it, and a grant to any other leaves all times as they are.
local function has_same_time(times, time) return redis.pcall('ZCOUNT', times, time, time) ~= 0 end
