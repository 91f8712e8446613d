-- Put behind readers.lua, before the scripts that end a writer: 1 or 2 as tell, 0 when there is none of that
-- name, a string when the server refuses. If it still reads, the lock is in mode read from now on, and whoever
-- waits to read is told as well.
local function leave_write(verb, key, id)
  local removed = redis.pcall('HDEL', key, id .. ':write')
  if removed ~= 1 then return type(removed) == 'table' and removed.err or 0 end
  if redis.pcall('HLEN', key) <= 1 then
    redis.pcall('DEL', key)
  else
    redis.pcall('HSET', key, 'mode', 'read')
    fit(key)
  end
  return tell(verb, key, '1')
end

