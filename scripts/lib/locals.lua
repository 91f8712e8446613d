-- Put before every script: locals are found faster than globals, and these are used for every key.
local redis, KEYS, ARGV = redis, KEYS, ARGV

