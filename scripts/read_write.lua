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

-- A count of holds as it was written, maybe by a stranger: what is no whole number from 0 up counts as 0. From 2^53 on
-- a number of Lua stays as it is when 1 is taken from it, so loops go over what a constant bounds, and not over this alone.
local function count_of(text)
  local number = tonumber(text)
  return number and number >= 0 and number % 1 == 0 and number or 0
end

local function is_writer(field) return string.sub(field, -6) == ':write' end

-- The writer of a lock in mode write. Only what expires can be a lock, and beside a writer only its own owner reads: a foreign
-- hash may have a million fields, of which none is looked at.
local function writer_of(key, ttl)
  local number = ttl ~= -1 and redis.pcall('HLEN', key)
  if type(number) ~= 'number' or number > 64 then return '' end
  local fields = redis.pcall('HKEYS', key)
  for i = 1, #fields do
    if is_writer(fields[i]) then return string.sub(fields[i], 1, -7) end
  end
  return ''
end

-- A refused message must not undo what it is about: waiters come by TTL then.
local function tell(verb, key, payload)
  return type(redis.pcall(verb, channel(key), payload)) == 'number' and 1 or 2
end

