-- Publishes a message at the server that has a key. In a cluster a PUBLISH, which has no key, goes to any node, also to
-- one that does not reply.
--
-- KEYS  1: the key
-- ARGV  1: the channel, 2: the message
return redis.call('PUBLISH', ARGV[1], ARGV[2])
