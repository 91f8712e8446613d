-- Writes the record of an engine.
--
-- KEYS  the record
-- ARGV  1: how long it lives, in ms
--       further: the names and values of its fields, in turn
-- reply 1 · an error: the server rejected it, and there is no record
--
-- Sent twice or late: the record is there, and expires.

local fields = {}
for i = 2, #ARGV do fields[#fields + 1] = ARGV[i] end
local set = redis.pcall('HSET', KEYS[1], unpack(fields))
if type(set) == 'table' then return set end
local kept = redis.pcall('PEXPIRE', KEYS[1], ARGV[1])
if type(kept) == 'table' then redis.pcall('DEL', KEYS[1]) end
return kept
