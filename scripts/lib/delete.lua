-- Put before the scripts that delete hashes which others may have filled. DEL of a million fields stops the server for a
-- quarter of a second; UNLINK leaves the work to another thread. Small hashes are deleted with DEL, and so are all
-- hashes when the user may not run UNLINK.
local function delete(fields, ...)
  if fields > 64 then
    local removed = redis.pcall('UNLINK', ...)
    if type(removed) == 'number' then return removed end
  end
  return redis.pcall('DEL', ...)
end

