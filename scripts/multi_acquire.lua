-- Acquires groups of locks, each group for one tenure and atomically: all of its locks or none.
--
-- KEYS  the lock keys, group by group; no key twice in a group
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       2: how many groups
--       then three per group: how many keys, tenure id, lease in ms (at least 1: PEXPIRE deletes for less)
--       then any number of pairs: index into KEYS, id of an orphan to release first
-- reply per group (1 alone if all are): 1 granted · {n, ttl in ms, holder} its n-th key is held by another
--       tenure, as of acquire · {n, why} the server rejected the n-th; why may be a list, as of acquire
--
-- Nothing is written before every key of the group is known to be free or the tenure's. If the server still rejects a
-- write (short of memory), the script removes what the call created. Sent twice: the second copy finds its own fields,
-- replies granted, and raises TTLs but never lowers them. Sent late: as of acquire, for each key.

local verb, groups = ARGV[1], tonumber(ARGV[2])

release_orphans(verb, 3 + 3 * groups, 1)

-- Inspects a key. If the tenure may have it, returns nil and whether it has it already; otherwise {ttl, holder}, or
-- {why} for an error.
local function inspect(key, id)
  local ttl = redis.pcall('PTTL', key)
  if ttl == -2 then return nil, false end
  if type(ttl) == 'table' then return {ttl.err} end
  local owner = owner_of(key, id, ttl)
  if owner == true then return nil, true end
  return type(owner) == 'table' and {no_hash(key, owner.err)} or {ttl, owner}
end

-- Reports whether all keys are free, as they nearly always are, with one EXISTS. Lua's unpack has a limit, so it reports
-- false for more than 1000 keys.
local function free(first, count)
  return count <= 1000 and redis.pcall('EXISTS', unpack(KEYS, first + 1, first + count)) == 0
end

local function acquire_one(first, count, id, lease)
  local had = {}
  if not free(first, count) then
    for n = 1, count do
      local obstacle, mine = inspect(KEYS[first + n], id)
      if obstacle then return {n, obstacle[1], obstacle[2]} end
      had[n] = mine
    end
  end
  for n = 1, count do
    local key, granted = KEYS[first + n], nil
    if had[n] then
      granted = raise_ttl(key, id, lease, redis.pcall('PTTL', key))
    else
      granted = create(key, id, lease)
    end
    if granted ~= 1 then
      for m = 1, n - 1 do
        if not had[m] then unmake(KEYS[first + m], id) end
      end
      return {n, granted}
    end
  end
  return 1
end

local reply, first = nil, 0
for i = 1, groups do
  local count = tonumber(ARGV[3 * i])
  local answer = acquire_one(first, count, ARGV[3 * i + 1], ARGV[3 * i + 2])
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
  first = first + count
end
return reply or 1
