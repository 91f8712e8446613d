-- Acquires many locks in one call, each for a tenure of its own and with a fencing token.
--
-- KEYS  a pair per lock: its key, the key of its token (declared: a counter that is on another node
--       while its slot migrates must not start again)
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: the lease of all in ms, or '' when each has its own (at least 1: PEXPIRE deletes for less)
--       then per lock: tenure id, and its own lease
--       then any number of pairs: number of the lock, id of an orphan to release first
-- reply per key: the token, if granted: a number, or its digits as a string from 2^53 on · {ttl in ms, holder}
--       held by another tenure, as of acquire · another string: why the server rejected it; a list for a key that is no hash, as of acquire
--
-- Sent twice: the second copy finds its own field and replies the token of the first. No other client can have
-- raised the counter meanwhile. Sent late: as of acquire; its token is greater than all before. If the server rejects a
-- lock after its token was counted, that token is never used.

local verb, locks = ARGV[1], #KEYS / 2

-- Returns the token of a tenure that has the lock already. No other client counts while the tenure has the lock.
local function counted(counter)
  local token = redis.pcall('GET', counter)
  if not token then return count(counter) end
  return type(token) == 'table' and token or token_of(token)
end

-- Reports whether all keys are free, as they mostly are, with one EXISTS, as of acquire.
local function all_free()
  local keys = {}
  for i = 1, locks do keys[i] = KEYS[2 * i - 1] end
  return locks > 1 and redis.pcall('EXISTS', unpack(keys)) == 0
end

local function acquire_one(key, counter, id, lease, free)
  local ttl = free and -2 or redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return ttl.err end
  if ttl ~= -2 then
    local answer = try_existing(key, id, lease, ttl)
    if answer ~= 1 then return answer end
    local token = counted(counter)
    return type(token) == 'table' and token.err or token
  end
  local granted = count(counter)
  if type(granted) == 'table' then return granted.err end
  local created = create(key, id, lease)
  return created == 1 and granted or created
end

release_orphans(verb, tenures + stride * (locks + 1), 2)

local reply, free = {}, all_free()
for i = 1, locks do
  local at = tenures + stride * i
  reply[i] = acquire_one(KEYS[2 * i - 1], KEYS[2 * i], ARGV[at], common or ARGV[at + 1], free)
end
return reply
