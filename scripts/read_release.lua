-- Releases many readers in one call. When the last of a lock goes, or the TTL falls by more than a tenth, whoever waits
-- is told.
--
-- KEYS  the lock keys (those of the holds are not declared: some may be in another node while their slot
--       migrates, where they end by themselves)
-- ARGV  1: the publish verb (PUBLISH, or SPUBLISH in a cluster)
--       then per key: tenure id
-- reply per key (1 alone if all are): 1 released · 2 released, but the server refused the message · 0
--       gone: the tenure was not in Redis · a string: why the server refused
--
-- Sent twice or late: the field of that tenure is gone, so nothing happens and nothing is published. If somebody else took the
-- field away, the keys of its holds may be left: they go. The TTL
-- falls to what the readers that are left need, once a call however many leave, unless somebody writes. Readers
-- that died are removed with the last one that lives, and, of many, by those who come.

local verb = ARGV[1]

-- The locks to be fitted, each with whose leaving it was last.
local unfit, leavers = {}, {}

local reply
for i = 1, #KEYS do
  local key = KEYS[i]
  local answer, falls = leave_read(verb, key, ARGV[i + 1])
  if reply or answer ~= 1 then reply = noted(reply, i, answer) end
  if falls and not leavers[key] then unfit[#unfit + 1] = key end
  if falls then leavers[key] = i end
end
for i = 1, #unfit do
  local key = unfit[i]
  local answer = redis.pcall('HGET', key, 'mode') == 'read' and fit_and_tell(verb, key) or 1
  if answer ~= 1 then
    reply = reply or noted(nil, #KEYS, 1)
    reply[leavers[key]] = answer
  end
end
return reply or 1
