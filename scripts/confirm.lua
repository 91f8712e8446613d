-- Put before the scripts that confirm a tenure: each answers for its part, and none raises an error.

local function renew(key, id, lease)
  local mine = redis.pcall('HEXISTS', key, id)
  if mine ~= 1 then
    if mine == 0 then return 0 end
    return mine.err
  end
  if lease == '0' then return 1 end
  local expires = expire(key, lease)
  return type(expires) == 'table' and expires.err or expires
end

local function write(key, id, count)
  if count == '' then return 1 end
  return type(redis.pcall('HSET', key, id, count)) == 'number' and 1 or 0
end

local function listeners(key, subcommand, wanted)
  if wanted == '' then return -1 end
  local subscribers = redis.pcall('PUBSUB', subcommand, channel(key))
  return subscribers.err and -1 or tonumber(subscribers[2])
end

