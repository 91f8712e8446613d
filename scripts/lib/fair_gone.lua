-- Put after fair_places.lua: places that waiters left behind in a long queue. To search the list for each waiter that
-- leaves would take a time that grows with the square of their number. So its place stays there, without a life: every
-- script takes it for dead. It keeps its time, as clients that do not know the hash need the times of a queue to rise.
--
-- Such clients would wait for these places. So waiters leave places behind only while all places are lockwheel's, and as
-- soon as they are not, all these places are removed. That also happens when they are more than half of the queue.

-- How many places a call takes off an end of a queue at most.
local most = 200

-- In a queue longer than this, waiters leave places behind. In a shorter one, and beside places that are not lockwheel's,
-- they are removed at once.
local long = 1000

local function is_gone(till) return till == 0 end

-- Leaves the place of a waiter behind. Reports whether the waiter has no place with a life any more, and whether it had
-- one.
local function leave_behind(lock, id)
  local till, added = kept(lock, id)
  if not till or is_gone(till) then return true, false end
  local set = redis.pcall('HSET', lock.places, id, '0:' .. text(added) .. ':0')
  return type(set) == 'number', true
end

-- Splits a piece of the queue: returns the ids that stay, those that are gone, and for each place that is gone its time
-- and what it added.
local function split(lock, ids)
  local stay, dead, of = {}, {}, {}
  local words = redis.pcall('HMGET', lock.places, unpack(ids))
  for i = 1, #ids do
    local word = words.err and redis.pcall('HGET', lock.places, ids[i]) or words[i]
    local added = type(word) == 'string' and string.match(word, '^0:(%d+):')
    if added then
      dead[#dead + 1] = ids[i]
      of[i] = {time = redis.pcall('ZSCORE', lock.times, ids[i]), added = integer(added)}
    else
      stay[#stay + 1] = ids[i]
    end
  end
  return stay, dead, of
end

-- Takes places off the head. Before Redis 6.2, LPOP takes one at a time.
local function take_off(lock, count)
  local taken = redis.pcall('LPOP', lock.queue, text(count))
  if type(taken) == 'table' and not taken.err then return end
  for _ = 1, count do redis.pcall('LPOP', lock.queue) end
end

-- Removes the places that were left behind, and subtracts what they added from the times behind them, as if their waiters
-- had left one by one. The queue goes round once, in pieces: each piece is appended without those places, and then taken
-- off the head. If the server does not allow that, all stays as it is.
local function sweep(lock, now)
  local length, before, owed = redis.pcall('LLEN', lock.queue), account(lock), 0
  while type(length) == 'number' and length > 0 do
    local ids = redis.pcall('LRANGE', lock.queue, '0', text(math.min(length, 250) - 1))
    if ids.err or #ids == 0 then return end
    local stay, dead, of = split(lock, ids)
    if #stay > 0 and type(redis.pcall('RPUSH', lock.queue, unpack(stay))) == 'table' then return end
    take_off(lock, #ids)
    if #dead > 0 then
      redis.pcall('ZREM', lock.times, unpack(dead))
      redis.pcall('HDEL', lock.places, unpack(dead))
    end
    local last
    for i = 1, #ids do
      local it = of[i]
      if not it then
        if owed > 0 then subtract_wait(lock.times, ids[i], owed) end
      elseif type(it.time) == 'string' and it.time ~= last then
        last = it.time
        if not has_same_time(lock.times, last) and not has_same_time(lock.times, text(last - owed)) then
          owed = owed + unused_wait(last - before - owed, it.added, now)
        end
      end
    end
    length = length - #ids
  end
  put_on_account(lock, before, 0)
end

-- Takes places that were left behind off the tail, so that a new waiter stands behind one that waits. No place is behind
-- them, so nothing is subtracted. Returns the last id of the queue, and what its place added if an engine keeps it alive.
local function tail(lock)
  for taken = 0, most do
    local last = redis.pcall('LINDEX', lock.queue, '-1')
    if type(last) ~= 'string' then return last end
    local till, added = kept(lock, last)
    if not is_gone(till) or taken == most then return last, added end
    redis.pcall('LREM', lock.queue, '-1', last)
    redis.pcall('ZREM', lock.times, last)
    redis.pcall('HDEL', lock.places, last)
    local owed, gone = account(lock)
    put_on_account(lock, owed, gone - 1)
  end
end
