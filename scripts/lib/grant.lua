-- Put before the scripts that acquire a lock with one field in its hash.

-- Removes a key that this call created, also for a user who may run only one of HDEL and DEL.
local function unmake(key, id)
  if type(redis.pcall('HDEL', key, id)) == 'table' then redis.pcall('DEL', key) end
end

-- Creates the lock. A key never stays without a TTL: if the server rejects the TTL, the field is removed again.
local function create(key, id, lease)
  local set = redis.pcall('HSET', key, id, '1')
  if type(set) == 'table' then return set.err end
  local expires = expire(key, lease)
  if expires == 1 then return 1 end
  unmake(key, id)
  return expires.err
end

local function raise_ttl(key, id, lease, ttl)
  if ttl >= tonumber(lease) then return 1 end
  local expires = expire(key, lease)
  return expires == 1 and 1 or expires.err
end

-- Returns the owner of an existing key: true if it is this tenure, otherwise the holder's id, or the table of an error.
-- Only a hash that expires and has one field can be a lock. Of any other the holder is not looked up, because it may have
-- a million fields: the owner is '' without expiry, and 'several' for several fields.
local function owner_of(key, id, ttl)
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'table' then return fields end
  if fields == 1 and ttl ~= -1 then
    local found = redis.pcall('HKEYS', key)
    if found.err then return found end
    return found[1] == id or found[1]
  end
  local mine = redis.pcall('HEXISTS', key, id)
  if type(mine) == 'table' then return mine end
  if mine == 1 then return true end
  return ttl == -1 and '' or 'several'
end

local function try_existing(key, id, lease, ttl)
  local owner = owner_of(key, id, ttl)
  if owner == true then return raise_ttl(key, id, lease, ttl) end
  return type(owner) == 'table' and no_hash(key, owner.err) or {ttl, owner}
end

