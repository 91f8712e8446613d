-- Put before the scripts that inspect locks. Returns a count as another program may have written it, from 0 to 2^31 - 1:
-- a greater one would not fit the caller's integer, and in a reply one of 2^63, or one that is not a number, is negative.
local function stored_count(text)
  local n = tonumber(text)
  return n and n >= 0 and math.min(n, 2147483647) or 0
end
