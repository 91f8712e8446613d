-- Takes many locks in one call, each for a tenure of its own and with a fencing token.
--
-- KEYS  a pair per lock: its key, the key of its token (declared: a counter that is in another node
--       while its slot migrates must not begin anew)
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the lease of all in ms, or '' when each has its own (at least 1: PEXPIRE deletes for less)
--       then per lock: tenure id, and its own lease
--       then any number of pairs: number of the lock, id of a ghost to release first
-- reply per key: the token, if it is granted: a number, or from 2^53 on its digits · {ttl in ms, holder}
--       held by someone else, as of acquire · another string: why the server refused
--
-- Sent twice: the second finds its own field, and answers the token that the first was given, which
-- nobody can have raised since. Sent late: as of acquire; its token is greater than all before. A token
-- that was counted for a lock that the server then refused is not given to anybody.

local verb, locks = ARGV[1], #KEYS / 2

-- Nobody else counts while the lock is this tenure's.
local function counted(counter)
  local token = redis.pcall('GET', counter)
  if not token then return count(counter) end
  return type(token) == 'table' and token or token_of(token)
end

-- As of acquire: mostly all are free, which one call tells.
local function all_free()
  local keys = {}
  for i = 1, locks do keys[i] = KEYS[2 * i - 1] end
  return locks > 1 and redis.pcall('EXISTS', unpack(keys)) == 0
end

local function take(key, counter, id, lease, free)
  local ttl = free and -2 or redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl.err end
  if ttl ~= -2 then
    local answer = present(key, id, lease, ttl)
    if answer ~= 1 then return answer end
    local token = counted(counter)
    return type(token) == 'table' and token.err or token
  end
  local granted = count(counter)
  if type(granted) == 'table' then return granted.err end
  local created = create(key, id, lease)
  return created == 1 and granted or created
end

for at = tenures + stride * (locks + 1), #ARGV, 2 do
  local key = KEYS[2 * tonumber(ARGV[at]) - 1]
  if redis.pcall('HDEL', key, ARGV[at + 1]) == 1 then redis.pcall(verb, channel(key), '0') end
end

local reply, free = {}, all_free()
for i = 1, locks do
  local at = tenures + stride * i
  reply[i] = take(KEYS[2 * i - 1], KEYS[2 * i], ARGV[at], common or ARGV[at + 1], free)
end
return reply
