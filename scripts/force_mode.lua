-- Put behind read_write.lua, before the scripts that take locks away from one mode, whoever has them: 1 or 2 as
-- tell, 0 when the lock is not in that mode, a string when the server refuses.

local function force(verb, key, mode, payload)
  local is = redis.pcall('HGET', key, 'mode')
  if type(is) == 'table' then return is.err end
  if is ~= mode then return 0 end
  local removed = redis.pcall('DEL', key)
  if removed ~= 1 then return removed.err end
  return tell(verb, key, payload)
end

