-- Put before the scripts that take a lock with one field in its hash.

-- Takes back a key that this call made, also for a user who lacks one of the two rights.
local function unmake(key, id)
  if type(redis.pcall('HDEL', key, id)) == 'table' then redis.pcall('DEL', key) end
end

-- A key never stays without a TTL: if the server refuses one, the field goes again.
local function create(key, id, lease)
  local set = redis.pcall('HSET', key, id, '1')
  if type(set) == 'table' then return set.err end
  local expires = expire(key, lease)
  if expires == 1 then return 1 end
  unmake(key, id)
  return expires.err
end

local function again(key, id, lease, ttl)
  if ttl >= tonumber(lease) then return 1 end
  local expires = expire(key, lease)
  return expires == 1 and 1 or expires.err
end

local function present(key, id, lease, ttl)
  local mine = redis.pcall('HEXISTS', key, id)
  if mine == 1 then return again(key, id, lease, ttl) end
  if type(mine) == 'table' then return mine.err end
  -- Only what expires can be a lock: a foreign hash may have a million fields.
  if ttl == -1 then return {ttl, ''} end
  local fields = redis.pcall('HKEYS', key)
  return fields.err or {ttl, fields[1]}
end

