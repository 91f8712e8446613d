-- Renews many readers in one call, each with its hold count and the lease of each hold.
--
-- KEYS  per lock: its key, then that of each hold with a lease
-- ARGV  1: the PUBSUB subcommand that counts listeners; the publish verb follows from it
--       then per lock: tenure id, 1 if the TTL may have to fall ('' if not), how many holds, and the lease of
--       each in ms (at least 1), the longest first. If only some holds have a lease here, instead of how many
--       holds: how many have one, a slash, and how many holds there are; the others need less than those
-- reply per key (1 alone if all are): 1 renewed · {1, 0, -1} renewed, but the count could not be written ·
--       0 gone: the tenure is not in Redis · a string: why the server rejected it
--
-- Never creates a reader, so a copy that arrives after the tenure's end does nothing. If a reader is gone, the keys of
-- its holds are removed too. Sent twice: TTLs and count are absolute, so the second copy changes nothing but the moment
-- from which the TTLs count.
--
-- The lock's TTL covers the longest lease. The script lowers it to what all readers need only if:
-- - a reader asks for that, or needs less by more than a tenth: the server's clock may have been set back
-- - there is no writer
-- - of many readers, one that asks had as long a lease as the lock
--
-- It lowers a TTL once a call, however many readers ask. The count comes last and may fail alone: short of memory,
-- PEXPIRE works and HSET does not.

local function stamp(hold, lease)
  local expires = expire(hold, lease)
  if expires == 1 then return true end
  if expires == 0 then expires = redis.pcall('SET', hold, '1', 'PX', lease) end
  return expires.ok, expires.err
end

local function count(key, id, holds_left, written)
  if written == holds_left then return 1 end
  remove_keys(key, id, written, holds_left)
  return write_count(key, id, holds_left) and 1 or {1, 0, -1}
end

-- Reports whether a reader that wants less than the lock's TTL may be the reason for that TTL, before it is renewed.
local function upholds(key, id, written, ttl, lease)
  if ttl <= lease then return false end
  local fields = redis.pcall('HLEN', key)
  return type(fields) ~= 'number' or fields <= sample_size or decides_ttl(max_lease_of_reader(key, id, written), ttl)
end

-- ttls: the TTLs of the locks that this call has set or looked at. Many readers of one lock share a call.
local falling, ttls = {}, {}

local function renew(key, id, falls, number, held, k, a)
  local written = redis.pcall('HGET', key, id)
  if not written then
    clear_lost(key, id)
    return 0
  end
  if type(written) == 'table' then return written.err end
  local ttl, lease = ttls[key] or redis.pcall('PTTL', key), tonumber(ARGV[a + 1])
  if type(ttl) == 'table' then return ttl.err end
  written = count_of(written)
  if (falls ~= '' or 10 * lease < 9 * ttl) and not falling[key] and upholds(key, id, written, ttl, lease) then
    falling[key], falling[#falling + 1] = true, key
  end
  if ttl < lease then
    local expires = expire(key, ARGV[a + 1])
    if expires ~= 1 then return expires.err end
  end
  ttls[key] = ttl >= 0 and math.max(ttl, lease) or nil
  local whole = true
  for i = 1, number do
    local stamped, refusal = stamp(KEYS[k + i], ARGV[a + i])
    if i == 1 and not stamped then return refusal end
    whole = whole and stamped
  end
  raise_ttl_for_others(key, ttl, lease)
  return whole and count(key, id, held, written) or {1, 0, -1}
end

local reply, i, k, a = nil, 1, 1, 2
while k <= #KEYS do
  local number = tonumber(ARGV[a + 2])
  local held = number
  if not number then
    number, held = string.match(ARGV[a + 2], '(.+)/(.+)')
    number, held = tonumber(number), tonumber(held)
  end
  local answer = renew(KEYS[k], ARGV[a], ARGV[a + 1], number, held, k, a + 2)
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
  i, k, a = i + 1, k + 1 + number, a + 3 + number
end
for i = 1, #falling do
  if redis.pcall('HGET', falling[i], 'mode') == 'read' then
    fit_and_tell(ARGV[1] == 'SHARDNUMSUB' and 'SPUBLISH' or 'PUBLISH', falling[i])
  end
end
return reply or 1
