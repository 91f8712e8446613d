-- Renews many writers in one call; also writes a hold count (re-entry, partial release), sets an extended
-- lease, and counts or notifies the listeners of a lock's channel.
--
-- KEYS  the lock keys
-- ARGV  1: the PUBSUB subcommand that counts listeners (NUMSUB, or SHARDNUMSUB in a cluster)
--       2: the lease of all in ms, or '' when each has its own (0 leaves the TTL as it is; never negative)
--       then per key: tenure id, and its own lease
--       then any number of triples: index into KEYS, hold count to write ('' leaves it),
--       1 to count the listeners of the lock's channel, 2 to notify waiters if the TTL falls, 3 for both ('' for
--       neither: then only if it falls by more than a tenth)
-- reply per key (1 alone if all are): 1 renewed · 0 gone: the tenure is not in Redis · a string: why the
--       server rejected it · with a triple, when renewed: {1, 1 if the count is as requested or none was,
--       listeners or -1}
--
-- Never creates a field, so a copy that arrives after the tenure's end does nothing. Sent twice: the TTL and
-- the count are absolute, so the second copy changes nothing but the moment from which the TTL counts.
--
-- While the writer reads as well, the TTL is not lowered below what those reads need. The script looks for that need only
-- if the TTL would be lowered. A fall by more than a tenth is then published, whether or not that was requested. The
-- count comes after the TTL and may fail alone.

local count_listeners, keys = ARGV[1], #KEYS

-- Returns the lease that a writer and its reads need together, '0' if the TTL is that already, and the wish. Returns
-- nil and the reply if there is nothing to renew.
local function together(key, id, lease, wish)
  local mine = redis.pcall('HEXISTS', key, id)
  if mine ~= 1 then return nil, mine == 0 and 0 or mine.err end
  local ttl = redis.pcall('PTTL', key)
  if type(ttl) == 'table' then return nil, ttl.err end
  if ttl >= 0 and ttl < tonumber(lease) then return lease, wish end
  local enough = ttl < 0 and math.huge or ttl
  local need = longest(key, enough)
  if need == enough or need > 0 and need + ttl_tolerance_ms >= enough then return ttl < 0 and lease or '0', wish end
  if need > tonumber(lease) then lease = string.format('%d', need) end
  return lease, (ttl < 0 or 10 * tonumber(lease) < 9 * ttl) and '2' or wish
end

local function longer(key, id, lease, wish)
  local fields = lease ~= '0' and redis.pcall('HLEN', key) or 0
  if type(fields) == 'table' then return fields.err end
  if fields > 2 then
    lease, wish = together(key, id, lease, wish)
    if not lease then return wish end
  end
  return renew(key, id, lease, wish, count_listeners)
end

local wishes = wished(keys)

local reply
for i = 1, keys do
  local at = tenures + stride * i
  local answer = longer(KEYS[i], ARGV[at] .. ':write', common or ARGV[at + 1], wishes[i])
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
end
for at = tenures + stride * (keys + 1), #ARGV, 3 do
  local i = tonumber(ARGV[at])
  reply = reply or set_reply(nil, keys, 1)
  if reply[i] == 1 then
    local id = ARGV[tenures + stride * i] .. ':write'
    reply[i] = {1, write(KEYS[i], id, ARGV[at + 1]), listeners(KEYS[i], count_listeners, ARGV[at + 2])}
  end
end
return reply or 1
