-- Put after fair_gone.lua, before the scripts of the fair lock.

-- How many times without a place a call looks at.
local strays = 16

-- Notifies the head only. Reports whether the server allowed it.
local function publish_to(verb, key, head)
  if not head then return true end
  return type(head) == 'string' and type(redis.pcall(verb, channel(key) .. ':' .. head, '0')) == 'number'
end

-- Returns the same as kept, and whether more than its life was left, as after the server's clock was set back. Such a place is
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

-- Sets the TTLs after a change of the queue. left is how long, in ms, until the tenure of this change is considered dead;
-- without left no TTL is set. Queue, times and places live for longer than that. All three get the same TTL, so the
-- order in which they are read does not matter. If one place is not lockwheel's, queue and times have no TTL.
local function age(lock, now, left)
  local count = redis.pcall('LLEN', lock.queue)
  if type(count) == 'table' or count == 0 then return end
  local all, gone = ours(lock, count)
  local enough = left and left + after / 2
  if not all then
    if gone > 0 then sweep(lock, now) end
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
  local told = publish_to(verb, lock.key, head)
  if not told or not doubt then return told end
  local at = 0
  for step = 1, 24 do
    if step <= 8 then at = step else at = 2 * at end
    local id = redis.pcall('LINDEX', lock.queue, text(at))
    if not id then id = redis.pcall('LINDEX', lock.queue, '-1') end
    if type(id) ~= 'string' or id == head then return told end
    publish_to(verb, lock.key, id)
    local till, _, life = kept_for_its_life(lock, id, now)
    if not doubtful(till, life, now) then return told end
    head = id
  end
  return told
end

-- Moves the times of all waiters, or of those behind the first few, up to 250 per command. Returns nothing, or the table
-- of an error.
local function shift_times(times, by, few)
  local waiting = redis.pcall('ZRANGE', times, text(few or 0), '-1', 'WITHSCORES')
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
  local fields = redis.pcall('HLEN', lock.places)
  if type(fields) == 'table' then fields = 0 end -- of another type: small
  local removed = delete(redis.pcall('ZCARD', lock.times) + fields, lock.times, lock.places)
  if type(removed) == 'table' then return removed end
  for i = 1, #ids do publish_to(verb, lock.key, ids[i]) end
end

-- Takes dead places off the head, and those without a time, because nothing else would remove them. asks is the tenure
-- that asks now (nil for none), which is alive. A place without a time may be alive too: its waiter is notified
-- and comes again. What the removed places of lockwheel have left of their waits is subtracted once, for all of them.
--
-- Returns the head, its time, how many ms longer it is considered alive, whether it is doubtful, and whether a dead place
-- was in front of it: then it may not know that the lock is free. 0 ms means that the call has removed the most it may and
-- leaves more dead places to the next call. Returns false without a head, or the table of an error.
local function prune_dead(verb, lock, now, asks)
  local owed, count = 0, 0 -- count: how many places the call has taken off
  local gone, reminds = 0 -- gone: how many of the others waiters left behind
  local looked = false -- whether it has looked behind a head that had more than its life left
  local function done(head, time, left, doubt)
    local failed = owed > 0 and shift_times(lock.times, -owed)
    if failed then return failed end
    if reminds then put_on_account(lock, 0, gone) end
    if count > 0 then age(lock, now) end
    return head, time, left, doubt, count > 0
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
      owed, gone, reminds = account(lock)
      time = time and time - owed
    end
    if count > most then
      put_on_account(lock, owed, gone)
      age(lock, now)
      return head, time or now, 0, true
    end
    local taken = redis.pcall('LPOP', lock.queue)
    if type(taken) == 'table' then return taken end
    if till then redis.pcall('HDEL', lock.places, head) end
    if is_gone(till) then gone = gone - 1 end
    if not time then
      publish_to(verb, lock.key, head)
    else
      redis.pcall('ZREM', lock.times, head)
      if till and not has_same_time(lock.times, text(time + owed)) then owed = owed + unused_wait(time, added, now) end
    end
  end
end
