-- Reads many locks as they are at one instant.
--
-- KEYS  the lock keys
-- ARGV  none
-- reply per key: {ttl in ms, holder, hold count}, the ttl -2 when the lock is free and -1 when it is
--       held without expiry, holder '' and count 0 when the hash has several fields and is no lock of
--       this kind; a count is from 0 to 2^31 - 1 · a string: why the server rejected it; a list for a key that is no hash, as of acquire
--
-- Changes nothing, so it may be sent any number of times.

local function state(key)
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'table' then return no_hash(key, fields.err) end
  if fields == 0 then return {-2, '', 0} end
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl.err end
  if fields > 1 then return {ttl, '', 0} end
  local hash = redis.pcall('HGETALL', key)
  return hash.err or {ttl, hash[1], stored_count(hash[2])}
end

local reply = {}
for i = 1, #KEYS do
  reply[i] = state(KEYS[i])
end
return reply
