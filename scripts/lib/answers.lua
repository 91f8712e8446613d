-- Put before the scripts that mostly reply 1 for every key. If all replies are 1, the script replies 1 alone instead of
-- a list; set_reply sets the first other reply and all that follow it.
local function set_reply(reply, i, answer)
  if not reply then
    reply = {}
    for before = 1, i - 1 do reply[before] = 1 end
  end
  reply[i] = answer
  return reply
end

