-- Put before the scripts that set a lease. The server rewrites each PEXPIRE as the PEXPIREAT that replicas get,
-- which is a tenth of a renewal. One TIME for the call saves that, if there are several keys.
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
    begun = nil -- a user who may not do that may do this
  end
  return redis.pcall('PEXPIRE', key, lease)
end

