-- Takes many fair locks in one call, each for a tenure of its own, or queues for them.
--
-- KEYS  three per lock: its key, its queue, the times of those who wait
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the caller's clock, in ms since 1970
--       then four per lock: tenure id, lease in ms (at least 1: PEXPIRE deletes for less), how long it
--       waits in ms (at least 1; '' does not queue), the tenure of the same engine that asked before it and waits
--       as long ('' if there is none)
--       then any number of pairs: number of the lock, id of a ghost to release first
-- reply per key (1 alone if all are): 1 granted · {ttl in ms, holder, left, clock} held by someone else,
--       the ttl as of acquire; or free but another's turn, and then the holder is '' and the ttl what that one
--       has left. left is how long in ms this tenure counts as alive in the queue, -1 if it does not stand
--       there. clock is the server's, in ms since 1970, for who stands there since this call and only if it may
--       be read · a string: why the server refused
--
-- Sent twice: the second finds its own field, as of acquire, or its place in the queue, and keeps it. Sent
-- late: it may queue, or take a free lock, for a tenure nobody waits for any more; release takes it back.

local verb, now, locks = ARGV[1], tonumber(ARGV[2]), #KEYS / 3

-- A head that asks is alive, and waits only because the lock is held for longer than it seemed: all times
-- are put off together, so that what stands between them stays. Returns its time, or the table of an error.
local function put_off(times, time, wait, ttl)
  local by = now + math.max(ttl, 0) + wait - time
  if by <= wait / 8 then return time end
  return shift(times, by) or time + by
end

-- Whoever shares the time of a head that nobody asks for any more would die with it. It asks, so it is alive, and has
-- its wait from the head's time on, as all behind that head do. Returns its time, or the table of an error.
local function outlive(times, head, time, wait)
  if time - now > wait / 4 then return time end
  local failed = shift(times, wait)
  if failed then return failed end
  take_back(times, head, wait)
  return time + wait
end

local function grant(key, queue, times, id, lease, wait, alive)
  local created = create(key, id, lease)
  if created ~= 1 or not alive then return created end
  redis.pcall('LPOP', queue)
  redis.pcall('ZREM', times, id)
  if wait ~= '' and not shared(times, text(alive)) then shift(times, -unused(alive, wait, now)) end
  return 1
end

-- Returns until when it counts as alive, or the table of an error.
local function enqueue(queue, times, id, wait, ttl, behind)
  local last = redis.pcall('LINDEX', queue, '-1')
  local time = last and last ~= id and redis.pcall('ZSCORE', times, last)
  if type(time) == 'table' then return time end
  if time then ttl = math.max(tonumber(time) - now, 0) end
  if not (time and last == behind and ttl >= tonumber(wait)) then ttl = ttl + tonumber(wait) end
  time = now + ttl
  local added = redis.pcall('ZADD', times, text(time), id)
  if type(added) == 'table' then return added end
  local length = redis.pcall('RPUSH', queue, id)
  if type(length) == 'table' then
    redis.pcall('ZREM', times, id)
    return length
  end
  return time
end

-- For the caller to compare with its own. Nothing is decided by it here.
local function clock()
  local time = redis.pcall('TIME')
  return not time.err and 1000 * time[1] + math.floor(time[2] / 1000) or nil
end

local function take(key, queue, times, id, lease, wait, behind)
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl.err end
  local head, alive = prune(verb, key, queue, times, now, id)
  if type(head) == 'table' then return head.err end
  local time = wait ~= '' and redis.pcall('ZSCORE', times, id)
  if type(time) == 'table' then return time.err end
  time = time and tonumber(time)
  if head == id and tonumber(wait) then
    time = put_off(times, time, tonumber(wait), ttl)
  elseif head and head ~= id and time then
    time = outlive(times, head, time, tonumber(wait))
  end
  if type(time) == 'table' then return time.err end
  if ttl == -2 and (not head or head == id) then
    return grant(key, queue, times, id, lease, wait, head == id and (time or alive))
  end
  local answer = {ttl, ''}
  if ttl ~= -2 then
    answer = present(key, id, lease, ttl)
    if type(answer) ~= 'table' then return answer end
  end
  local comes = not time and wait ~= ''
  if comes then time = enqueue(queue, times, id, wait, ttl, behind) end
  if type(time) == 'table' then return time.err end
  if ttl == -2 then answer[1] = alive - now end
  answer[3] = time and time - now or -1
  if comes then answer[4] = clock() end
  return answer
end

for at = 3 + 4 * locks, #ARGV, 2 do
  local i = 3 * tonumber(ARGV[at]) - 2
  if redis.pcall('HDEL', KEYS[i], ARGV[at + 1]) == 1 then
    local head = prune(verb, KEYS[i], KEYS[i + 1], KEYS[i + 2], now)
    tell(verb, KEYS[i], head)
  end
end

local reply
for i = 1, locks do
  local at = 4 * i - 1
  local answer = take(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  if reply or answer ~= 1 then reply = noted(reply, i, answer) end
end
return reply or 1
