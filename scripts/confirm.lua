-- Put before the scripts that confirm a tenure: each answers for its part, and none raises an error.

-- What a wish says: 1 to count the listeners of the lock's channel, 2 if its TTL may fall, 3 for both, '' for neither.
local counts, falls = {['1'] = true, ['3'] = true}, {['2'] = true, ['3'] = true}

-- Tells who waits that the TTL which it sleeps for has fallen, and the head of the queue of a fair lock. Of Redisson's
-- callers this message wakes those who sleep, and they try again; it is kept for none that comes later.
local function tell_of_fall(key, subcommand)
  local verb = subcommand == 'SHARDNUMSUB' and 'SPUBLISH' or 'PUBLISH'
  redis.pcall(verb, channel(key), '1')
  local queue, fair = string.gsub(channel(key), '^redisson_lock__channel', 'redisson_lock_queue')
  local head = fair == 1 and redis.pcall('LINDEX', queue, '0')
  if type(head) == 'string' then redis.pcall(verb, channel(key) .. ':' .. head, '1') end
end

local function renew(key, id, lease, wish, subcommand)
  local mine = redis.pcall('HEXISTS', key, id)
  if mine ~= 1 then
    if mine == 0 then return 0 end
    return mine.err
  end
  if lease == '0' then return 1 end
  local ttl = falls[wish] and redis.pcall('PTTL', key) or 0
  local expires = expire(key, lease)
  if expires ~= 1 then return type(expires) == 'table' and expires.err or expires end
  if type(ttl) == 'number' and (ttl == -1 or ttl > tonumber(lease)) then tell_of_fall(key, subcommand) end
  return 1
end

-- What is wished for each key of a call of many, by the triples behind the tenures.
local function wished(keys)
  local wishes = {}
  for at = tenures + stride * (keys + 1), #ARGV, 3 do wishes[tonumber(ARGV[at])] = ARGV[at + 2] end
  return wishes
end

local function write(key, id, count)
  if count == '' then return 1 end
  return type(redis.pcall('HSET', key, id, count)) == 'number' and 1 or 0
end

local function listeners(key, subcommand, wanted)
  if not counts[wanted] then return -1 end
  local subscribers = redis.pcall('PUBSUB', subcommand, channel(key))
  return subscribers.err and -1 or tonumber(subscribers[2])
end

