package scripts

import (
	_ "embed"
	"strconv"
)

var (
	//go:embed lib/read_write.lua
	readWriteText string
	//go:embed lib/readers.lua
	readersText string
	//go:embed lib/writer.lua
	writerText string
	//go:embed lib/force_mode.lua
	forceModeText string
	//go:embed read_acquire.lua
	readAcquireText string
	//go:embed read_renew.lua
	readRenewText string
	//go:embed read_release.lua
	readReleaseText string
	//go:embed read_force.lua
	readForceText string
	//go:embed write_acquire.lua
	writeAcquireText string
	//go:embed write_renew.lua
	writeRenewText string
	//go:embed write_release.lua
	writeReleaseText string
	//go:embed write_force.lua
	writeForceText string
	//go:embed rw_state.lua
	rwStateText string
)

// The scripts of the read/write lock.
var (
	ReadAcquire  = load("read_acquire", leasesText+answersText+expireText+readWriteText+readersText+noHashText+readAcquireText)
	ReadRenew    = load("read_renew", answersText+expireText+readWriteText+readersText+readRenewText)
	ReadRelease  = load("read_release", answersText+readWriteText+readersText+readReleaseText)
	ReadForce    = load("read_force", readWriteText+deleteText+noHashText+tellEnginesText+forceModeText+readForceText)
	WriteAcquire = load("write_acquire", leasesText+answersText+expireText+readWriteText+readersText+writerText+noHashText+writeAcquireText)
	WriteRenew   = load("write_renew", leasesText+answersText+expireText+readWriteText+readersText+confirmText+writeRenewText)
	WriteRelease = load("write_release", answersText+readWriteText+readersText+writerText+writeReleaseText)
	WriteForce   = load("write_force", readWriteText+deleteText+noHashText+tellEnginesText+forceModeText+writeForceText)
	RWState      = load("rw_state", noHashText+storedCountText+rwStateText)
)

var rwScripts = [...]Script{
	ReadAcquire, ReadRenew, ReadRelease, ReadForce,
	WriteAcquire, WriteRenew, WriteRelease, WriteForce, RWState,
}

// RWChannel is the prefix of the channel on which releases of a read/write lock are published, for RedissonKey.
const RWChannel = "redisson_rwlock"

// RWHoldKey returns the name of the key with the lease of one hold of a reader, as Redisson does: holds are numbered
// from 1.
func RWHoldKey(key, id string, number int) string {
	return hashTag(key) + ":" + id + ":rwlock_timeout:" + strconv.Itoa(number)
}
