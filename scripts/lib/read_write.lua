-- Put before the scripts of the read/write lock. Its hash has a field mode (read or write), one for each
-- reader, and that of the writer, which ends in :write. Each hold of a reader has a key with its own lease.

local function channel(key)
  if string.find(key, '{', 1, true) then return 'redisson_rwlock:' .. key end
  return 'redisson_rwlock:{' .. key .. '}'
end

-- Returns the prefix of the keys of a reader's holds; the number of the hold follows.
local function holds(key, id)
  if not string.find(key, '{', 1, true) then key = '{' .. key .. '}' end
  return key .. ':' .. id .. ':rwlock_timeout:'
end

-- Parses a count of holds, which another client may have written: what is no whole number from 0 up is 0. From 2^53 on,
-- a Lua number does not change when 1 is subtracted. So loops need a constant bound, and not the count alone.
local function count_of(text)
  local number = tonumber(text)
  return number and number >= 0 and number % 1 == 0 and number or 0
end

local function is_writer(field) return string.sub(field, -6) == ':write' end

-- Returns the writer of a lock in mode write, '' if it is no such lock. Only a hash that expires can be a lock, and the
-- only reader beside a writer is its own owner. A foreign hash may have a million fields: it looks at none of them.
local function writer_of(key, ttl)
  local number = ttl ~= -1 and redis.pcall('HLEN', key)
  if type(number) ~= 'number' or number > 64 then return '' end
  local fields = redis.pcall('HKEYS', key)
  for i = 1, #fields do
    if is_writer(fields[i]) then return string.sub(fields[i], 1, -7) end
  end
  return ''
end

-- Publishes; returns 1, or 2 if the server rejected the message. That must not undo what was done before: waiters try
-- again when the TTL that they know has passed.
local function publish_to(verb, key, payload)
  return type(redis.pcall(verb, channel(key), payload)) == 'number' and 1 or 2
end

