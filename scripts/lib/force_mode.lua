-- Put after read_write.lua, before the scripts that take locks of one mode away from their holders. force returns 1 or 2
-- as publish_to does, 0 when the lock is not in that mode, and a string when the server rejects it.

-- At most most_removed keys of holds are removed per call. Other keys are removed by the engines that have them, when
-- they learn that they lost the lock, or expire with their leases. No reader has more than most_holds holds.
local most_removed, most_holds = 500, 100000
local may_remove = most_removed

-- Returns the fields of a hash with their values; of more than most_removed only some, to bound the cost.
local function readers_of(key, fields)
  local hash = fields > most_removed and redis.pcall('HRANDFIELD', key, most_removed, 'WITHVALUES') or redis.pcall('HGETALL', key)
  return hash.err and {} or hash
end

local function remove_holds(key, hash)
  for at = 1, #hash, 2 do
    local count, prefix = math.min(count_of(hash[at + 1]), most_holds), holds(key, hash[at])
    local most = math.min(count, may_remove)
    for i = count, count - most + 1, -1 do redis.pcall('DEL', prefix .. i) end
    may_remove = may_remove - most
  end
end

local function tell_holders(own, key, hash)
  local told = {}
  for at = 1, #hash, 2 do tell_engine(own, hash[at], key, told) end
end

local function force(verb, own, key, mode, payload)
  local is = redis.pcall('HGET', key, 'mode')
  if type(is) == 'table' then return no_hash(key, is.err) end
  if is ~= mode then return 0 end
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'table' then fields = 0 end
  local readers = readers_of(key, fields)
  local removed = delete(fields, key)
  if removed ~= 1 then return removed.err end
  remove_holds(key, readers)
  tell_holders(own, key, readers)
  return publish_to(verb, key, payload)
end

