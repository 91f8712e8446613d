-- Renews many tenures of fenced locks for their next owners in one call, each with a new token.
--
-- KEYS  a pair per lock: its key, the key of its token
-- ARGV  1: the PUBSUB subcommand that counts listeners (NUMSUB, or SHARDNUMSUB in a cluster)
--       then five per lock: tenure id, lease in ms (0 leaves the TTL as it is; never negative), hold
--       count to write ('' leaves it), 1 to count the listeners of the lock's channel, 2 to notify waiters if
--       the TTL falls, 3 for both ('' for neither), the tenure's last token
-- reply per key: {1, 1 if the count is as requested or none was, listeners or -1, token as of
--       fenced_acquire} · 0 gone: the tenure is not in Redis · a string: why the server rejected it
--
-- Sent twice or late: it counts only if the counter still has the last token. No other client can raise the
-- counter while the tenure has the lock, so the second copy replies the token of the first. Otherwise as of renew.

local count_listeners = ARGV[1]

local function next_token(counter, last)
  local token = redis.pcall('GET', counter)
  if type(token) == 'table' then return token end
  if token and token ~= last then return token_of(token) end
  return count(counter)
end

local function pass(key, counter, id, lease, count, listen, last)
  local renewed = renew(key, id, lease, listen, count_listeners)
  if renewed ~= 1 then return renewed end
  local token = next_token(counter, last)
  if type(token) == 'table' then return token.err end
  return {1, write(key, id, count), listeners(key, count_listeners, listen), token}
end

local reply = {}
for i = 1, #KEYS / 2 do
  local at = 5 * i - 3
  reply[i] = pass(KEYS[2 * i - 1], KEYS[2 * i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
end
return reply
