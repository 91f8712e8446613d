-- Reads many read/write locks as they are at one instant.
--
-- KEYS  the lock keys
-- ARGV  none
-- reply per key: {ttl in ms, mode, writer, its hold count, readers, one of them}: the ttl -2 when the lock is
--       free and -1 when it is held without expiry; mode '' and nothing else when it is another kind of lock;
--       writer '' and count 0 without a writer; a count is from 0 to 2^31 - 1 · a string: why the server rejected it; a list for a key that is no hash, as of acquire
--
-- Changes nothing, so it may be sent any number of times. Of more than max_listed fields only some are read. The writer
-- is then '' unless it is among them: the only reader beside a writer is its own owner, so a lock with many has none.

local max_listed, some = 1000, 16

local function hash_of(key, fields)
  if fields <= max_listed then return redis.pcall('HGETALL', key) end
  return redis.pcall('HRANDFIELD', key, some, 'WITHVALUES')
end

local function state(key)
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl.err end
  local mode = redis.pcall('HGET', key, 'mode')
  if type(mode) == 'table' then return no_hash(key, mode.err) end
  if not mode then return {ttl, '', '', 0, 0, ''} end
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'table' then return fields.err end
  local hash = hash_of(key, fields)
  if hash.err then return hash.err end
  local writer, count, readers, one = '', 0, 0, ''
  for at = 1, #hash, 2 do
    local field = hash[at]
    if string.sub(field, -6) == ':write' then
      writer, count = string.sub(field, 1, -7), stored_count(hash[at + 1])
    elseif field ~= 'mode' then
      readers, one = readers + 1, field
    end
  end
  if fields > max_listed then readers = fields - (mode == 'write' and 2 or 1) end
  return {ttl, mode, writer, count, readers, one}
end

local reply = {}
for i = 1, #KEYS do
  reply[i] = state(KEYS[i])
end
return reply
