-- Releases many readers in one call. It notifies the waiters of a lock when its last reader leaves, or when its TTL falls
-- by more than a tenth.
--
-- KEYS  the lock keys (those of the holds are not declared: some may be on another node while their slot
--       migrates, where they expire)
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       then per key: tenure id
-- reply per key (1 alone if all are): 1 released · 2 released, but the server rejected the message · 0
--       gone: the tenure was not in Redis · a string: why the server rejected it
--
-- Sent twice or late: the field of that tenure is gone, so nothing happens and nothing is published. If another client
-- removed the field, keys of the reader's holds may be left: they are removed. The TTL falls to what the remaining
-- readers need, once a call however many leave, unless there is a writer. Dead readers are removed with the last live
-- one, and, of many, by readers that join.

local verb = ARGV[1]

-- The locks with a TTL that is to be lowered, each with the last of the call's readers that left it.
local unfit, leavers = {}, {}

local reply
for i = 1, #KEYS do
  local key = KEYS[i]
  local answer, falls = release_read(verb, key, ARGV[i + 1])
  if reply or answer ~= 1 then reply = set_reply(reply, i, answer) end
  if falls and not leavers[key] then unfit[#unfit + 1] = key end
  if falls then leavers[key] = i end
end
for i = 1, #unfit do
  local key = unfit[i]
  local answer = redis.pcall('HGET', key, 'mode') == 'read' and fit_and_tell(verb, key) or 1
  if answer ~= 1 then
    reply = reply or set_reply(nil, #KEYS, 1)
    reply[leavers[key]] = answer
  end
end
return reply or 1
