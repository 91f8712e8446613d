-- Put before the scripts that take locks away. Tells the engines of the holders that were removed, each on its own channel,
-- so that they ask for the lock at once. Such a message is a hint; a lost one costs the time until the next renewal.
--
-- It publishes with PUBLISH also in a cluster with sharded channels: a script may use SPUBLISH only for the slots of its
-- keys. A call tells at most most_told engines.
local most_told = 64

-- Tells the engine of a holder's id about a key, unless it was told about this key or is the caller's own. told has the
-- engines that were told about the key. No caller's own id: tell none.
local function tell_engine(own, id, key, told)
  if not own or own == '' or most_told == 0 then return end
  local engine = string.match(id, '^(%x+%-%x+%-%x+%-%x+%-%x+):')
  if not engine or #engine ~= 36 or engine == own or told[engine] then return end
  told[engine], most_told = true, most_told - 1
  redis.pcall('PUBLISH', 'lockwheel:engine:' .. engine, 'forced ' .. key)
end

-- Returns the id of the holder of a plain lock with that many fields, '' if no engine is to be told.
local function holder_of(own, key, fields)
  if not own or own == '' or fields ~= 1 then return '' end
  local ids = redis.pcall('HKEYS', key)
  return type(ids[1]) == 'string' and ids[1] or ''
end
