-- Put after readers.lua, before the scripts that end a writer. Returns 1 or 2 as publish_to does, 0 when there is none with that
-- id, and a string when the server rejects it. If the owner still reads, the lock is in mode read from now on, and the
-- waiters that want to read are notified as well.
local function release_write(verb, key, id)
  local fields = redis.pcall('HLEN', key)
  if type(fields) == 'table' then return fields.err end
  local removed = redis.pcall('HDEL', key, id .. ':write')
  if removed ~= 1 then return type(removed) == 'table' and removed.err or 0 end
  if fields <= 2 then
    redis.pcall('HDEL', key, 'mode')
  else
    redis.pcall('HSET', key, 'mode', 'read')
    fit_ttl(key)
  end
  return publish_to(verb, key, '1')
end

