-- Put before every script: what is looked up for every key is found sooner here.
local redis, KEYS, ARGV = redis, KEYS, ARGV

