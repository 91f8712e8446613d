-- Put before the scripts that set a lease. The server rewrites each PEXPIRE as the PEXPIREAT that it sends to replicas,
-- which is a tenth of a renewal. A call with more than eight keys saves that with one TIME and absolute deadlines.
local time = #KEYS > 8 and redis.pcall('TIME')
local begun = time and not time.err and 1000 * time[1] + math.floor(time[2] / 1000)
local last, ends

local function ending(lease)
  if lease ~= last then last, ends = lease, string.format('%.0f', begun + lease) end
  return ends
end

-- brief: this call has set a lease of less than ten seconds. A call may last that long where the server stands still: the
-- lease is then over before it is set, and PEXPIREAT deletes the key.
local brief

local function expire(key, lease)
  brief = brief or #lease < 5
  if begun then
    local set = redis.pcall('PEXPIREAT', key, ending(lease))
    if type(set) == 'number' then return set end
    begun = nil -- a user who may not run PEXPIREAT may be allowed PEXPIRE
  end
  return redis.pcall('PEXPIRE', key, lease)
end

-- Writes a tenure's count after its lease was set. What is written to a key that was deleted by that would have no TTL.
local function write_count(key, id, count)
  if brief and redis.pcall('HEXISTS', key, id) ~= 1 then return false end
  return type(redis.pcall('HSET', key, id, count)) == 'number'
end

