-- Put before the scripts that set a lease. The server rewrites each PEXPIRE as the PEXPIREAT that it sends to replicas,
-- which is a tenth of a renewal. A call with more than eight keys saves that with one TIME and absolute deadlines.
local time = #KEYS > 8 and redis.pcall('TIME')
local begun = time and not time.err and 1000 * time[1] + math.floor(time[2] / 1000)
local last, ends

local function ending(lease)
  if lease ~= last then last, ends = lease, string.format('%.0f', begun + lease) end
  return ends
end

local function expire(key, lease)
  if begun then
    local set = redis.pcall('PEXPIREAT', key, ending(lease))
    if type(set) == 'number' then return set end
    begun = nil -- a user who may not run PEXPIREAT may be allowed PEXPIRE
  end
  return redis.pcall('PEXPIRE', key, lease)
end

-- Writes a tenure's count after its lease was set. A lease may be over before a long call comes to its key, which expire
-- then deletes. What is written to it after that would have no TTL.
local function write_count(key, id, count)
  return redis.pcall('HEXISTS', key, id) == 1 and type(redis.pcall('HSET', key, id, count)) == 'number'
end
