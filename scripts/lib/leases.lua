-- Put before the scripts that take leases. ARGV 2 is the lease of all keys, or '' when each lease follows its tenure id.
-- The tenure id of key i is at tenures + i * stride.
local common = ARGV[2] ~= '' and ARGV[2]
local stride = common and 1 or 2
local tenures = 3 - stride

