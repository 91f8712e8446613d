-- Put before the scripts that publish or count listeners: the channel of a lock, as Redisson names it.
-- It is built here and not declared as a KEY: declared, each release would answer TRYAGAIN while its
-- slot migrates.
local function channel(key)
  if string.find(key, '{', 1, true) then return 'redisson_lock__channel:' .. key end
  return 'redisson_lock__channel:{' .. key .. '}'
end

