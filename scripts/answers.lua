-- Put before the scripts that mostly answer 1 for every key: then that is the reply, and not a list.
local function noted(reply, i, answer)
  if not reply then
    reply = {}
    for before = 1, i - 1 do reply[before] = 1 end
  end
  reply[i] = answer
  return reply
end

