-- Put before the scripts of the read/write lock. Its hash has a field mode (read or write), one for each
-- reader, and that of the writer, which ends in :write. Each hold of a reader has a key with its own lease.

local function channel(key)
  if string.find(key, '{', 1, true) then return 'redisson_rwlock:' .. key end
  return 'redisson_rwlock:{' .. key .. '}'
end

-- What the keys of a reader's holds begin with: their numbers follow.
local function holds(key, id)
  if not string.find(key, '{', 1, true) then key = '{' .. key .. '}' end
  return key .. ':' .. id .. ':rwlock_timeout:'
end

-- A refused message must not undo what it is about: waiters come by TTL then.
local function tell(verb, key, payload)
  return type(redis.pcall(verb, channel(key), payload)) == 'number' and 1 or 2
end

