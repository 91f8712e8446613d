-- Put before the scripts that count fencing tokens. A Lua number is exact up to 2^53; the counter goes up to 2^63. So a
-- token is a number below 2^53, and the text of the counter from there on.

local exact, greatest = 9007199254740992, '9223372036854775807'
local no_token = 'ERR the counter is no fencing token: it is to be a whole number from 0 to ' .. greatest .. ' and without leading zeros'

-- Returns the token that a counter's text stands for, or the table of an error.
local function token_of(text)
  local short = #text < #greatest or #text == #greatest and text <= greatest
  if not short or not string.match(text, '^[1-9]%d*$') then return {err = no_token} end
  local number = tonumber(text)
  return number < exact and number or text
end

-- Counts one. A negative counter gives no token and stays as it is: if it were counted on, it would give one in the end.
local function count(counter)
  local token = redis.pcall('INCR', counter)
  if type(token) == 'table' or token > 0 and token < exact then return token end
  if token >= exact then
    local text = redis.pcall('GET', counter)
    return type(text) == 'table' and text or token_of(text)
  end
  redis.pcall('DECR', counter)
  return {err = no_token}
end
