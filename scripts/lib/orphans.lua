-- Put before the scripts that acquire, after channel.lua. Releases orphans, and notifies those who wait for their locks. ARGV
-- has them in pairs from `at` on: the number of a lock, and the id to delete from its hash. Each lock has `width` KEYS, its
-- own first.
local function release_orphans(verb, at, width)
  for pair = at, #ARGV, 2 do
    local key = KEYS[width * (tonumber(ARGV[pair]) - 1) + 1]
    if redis.pcall('HDEL', key, ARGV[pair + 1]) == 1 then redis.pcall(verb, channel(key), '0') end
  end
end

