-- Put before the scripts that inspect locks. Returns a count as another program may have written it. A greater one would
-- not fit the caller's integer, and one of 2^63 would be negative in a reply.
local function stored_count(text)
  return math.min(tonumber(text) or 0, 2147483647)
end
