-- Put before the scripts that publish or count listeners. Returns the channel of a lock, named as Redisson names it.
-- The channel is not declared as a KEY: a declared one would make each release reply TRYAGAIN while its slot migrates.
local function channel(key)
  if string.find(key, '{', 1, true) then return 'redisson_lock__channel:' .. key end
  return 'redisson_lock__channel:{' .. key .. '}'
end

