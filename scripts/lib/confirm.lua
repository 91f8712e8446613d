-- Put before the scripts that confirm tenures. Each function handles one part of that, and none raises an error.

-- The values of a wish: 1 counts the listeners of the lock's channel, 2 notifies if the TTL falls, 3 does both, '' neither.
-- 4 and 5 are 2 and 3 of a fair lock.
local counts = {['1'] = true, ['3'] = true, ['5'] = true}
local falls = {['2'] = true, ['3'] = true, ['4'] = true, ['5'] = true}
local queues = {['4'] = true, ['5'] = true}

-- Notifies the waiters that the TTL fell for which they sleep, and the head of the queue if the lock is fair. Redisson
-- callers that sleep wake up and try again; they do not keep the message for callers that come later. It does not look
-- for the queue of another kind of lock: a user may lack the permission, and the server would log that.
local function tell_of_fall(key, subcommand, fair)
  local verb = subcommand == 'SHARDNUMSUB' and 'SPUBLISH' or 'PUBLISH'
  redis.pcall(verb, channel(key), '1')
  if not fair then return end
  local queue = string.gsub(channel(key), '^redisson_lock__channel', 'redisson_lock_queue')
  local head = redis.pcall('LINDEX', queue, '0')
  if type(head) == 'string' then redis.pcall(verb, channel(key) .. ':' .. head, '1') end
end

-- Sets a lease only if the TTL becomes longer. Returns 1 if it did, 0 if the TTL is as long or longer, and nothing if the
-- server cannot say: GT needs Redis 7.
local lengthens = true
local function lengthen(key, lease)
  if not lengthens then return end
  brief = brief or #lease < 5
  local set
  if begun then set = redis.pcall('PEXPIREAT', key, ending(lease), 'GT') else set = redis.pcall('PEXPIRE', key, lease, 'GT') end
  if type(set) == 'number' then return set end
  lengthens = false
end

-- Renews a tenure. A TTL that falls without a wish was longer than its engine knows: the server's clock was set back, or
-- this server was a replica with a clock behind. Those who wait sleep for as long, so they are notified if it falls by more
-- than a tenth. As long as the TTL only grows, that costs no command.
local function renew(key, id, lease, wish, subcommand)
  local mine = redis.pcall('HEXISTS', key, id)
  if mine ~= 1 then
    if mine == 0 then return 0 end
    return mine.err
  end
  if lease == '0' or not falls[wish] and lengthen(key, lease) == 1 then return 1 end
  local ttl = redis.pcall('PTTL', key)
  local expires = expire(key, lease)
  if expires ~= 1 then return type(expires) == 'table' and expires.err or expires end
  local least = falls[wish] and tonumber(lease) or tonumber(lease) * 10 / 9
  if type(ttl) == 'number' and (ttl == -1 or ttl > least) then tell_of_fall(key, subcommand, queues[wish]) end
  return 1
end

-- Returns the wish of each key of a call, read from the triples after the tenures.
local function wished(keys)
  local wishes = {}
  for at = tenures + stride * (keys + 1), #ARGV, 3 do wishes[tonumber(ARGV[at])] = ARGV[at + 2] end
  return wishes
end

local function write(key, id, count)
  if count == '' then return 1 end
  return write_count(key, id, count) and 1 or 0
end

local function listeners(key, subcommand, wanted)
  if not counts[wanted] then return -1 end
  local subscribers = redis.pcall('PUBSUB', subcommand, channel(key))
  return subscribers.err and -1 or tonumber(subscribers[2])
end

