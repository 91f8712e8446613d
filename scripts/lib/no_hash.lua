-- Put before the scripts that acquire, inspect and force locks. Returns the reply for a key that a script could not use as
-- a hash: {why, ttl in ms, type} if the key is of another type, such as the string of another library's lock, otherwise the
-- error alone. Only after such an error does it cost anything. A user who may not run TYPE gets the error alone.
local function no_hash(key, why)
  if string.upper(string.sub(why, 1, 9)) ~= 'WRONGTYPE' then return why end
  local kind, ttl = redis.pcall('TYPE', key), redis.pcall('PTTL', key)
  return kind.ok and type(ttl) == 'number' and {why, ttl, kind.ok} or why
end
