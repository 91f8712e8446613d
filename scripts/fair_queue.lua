-- Put before the scripts of the fair lock: its queue, as Redisson keeps it. A list has the ids of those
-- who wait in the order in which they came; a sorted set says for each until when it counts as alive, in
-- ms since 1970 by the callers' clocks. Neither has a TTL.

-- Only the head is told. Reports whether the server allowed it.
local function tell(verb, key, head)
  if not head then return true end
  return type(head) == 'string' and type(redis.pcall(verb, channel(key) .. ':' .. head, '0')) == 'number'
end

-- Takes those off the head whose time is over, or who have none, because nothing else ever would. Who has
-- none may be alive: it is told, and comes again. Whoever asks is alive. Returns the head and its time,
-- false without one, or the table of an error.
local function prune(verb, key, queue, times, now, asks)
  while true do
    local head = redis.pcall('LINDEX', queue, '0')
    if not head or type(head) == 'table' then return head end
    local time = redis.pcall('ZSCORE', times, head)
    if type(time) == 'table' then return time end
    if time and (tonumber(time) > now or head == asks) then return head, tonumber(time) end
    local taken = redis.pcall('LPOP', queue)
    if type(taken) == 'table' then return taken end
    if time then redis.pcall('ZREM', times, head) else tell(verb, key, head) end
  end
end

local function text(number) return string.format('%.0f', number) end

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
