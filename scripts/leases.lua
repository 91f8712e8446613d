-- Put before the scripts that are told leases: ARGV 2 is that of all, or '' when each stands behind its tenure id.
-- Number i has its tenure id at tenures + i * stride.
local common = ARGV[2] ~= '' and ARGV[2]
local stride = common and 1 or 2
local tenures = 3 - stride

