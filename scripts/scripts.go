// Package scripts holds the Lua of the locks, one file per script. Each file begins with what it
// takes, what it answers and what happens when it is sent twice or late; none of them decides by the
// server's clock but those of the fair lock, and all of them take many keys and answer per key, so that one refused key changes nothing for its
// neighbours. Only redis.pcall is used, because an error raised by one key would end the script halfway.
// Constants go to the server as strings: it formats a Lua number with printf, which made an acquire or a
// release 7 to 10 % dearer.
package scripts

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

// Script is one script as the server knows it.
type Script struct {
	Name string // the file's name without its ending
	Text string // what EVAL and SCRIPT LOAD take
	SHA1 string // what EVALSHA takes
}

// What stands before scripts: functions that several of them use.
var (
	//go:embed locals.lua
	localsText string
	//go:embed expire.lua
	expireText string
	//go:embed leases.lua
	leasesText string
	//go:embed answers.lua
	answersText string
	//go:embed channel.lua
	channelText string
	//go:embed delete.lua
	deleteText string
	//go:embed grant.lua
	grantText string
	//go:embed confirm.lua
	confirmText string
	//go:embed token.lua
	tokenText string
	//go:embed fair_queue.lua
	fairQueueText string
)

var (
	//go:embed acquire.lua
	acquireText string
	//go:embed renew.lua
	renewText string
	//go:embed release.lua
	releaseText string
	//go:embed force.lua
	forceText string
	//go:embed state.lua
	stateText string
	//go:embed fenced_acquire.lua
	fencedAcquireText string
	//go:embed fenced_pass.lua
	fencedPassText string
	//go:embed joint_acquire.lua
	jointAcquireText string
	//go:embed fair_acquire.lua
	fairAcquireText string
	//go:embed fair_release.lua
	fairReleaseText string
	//go:embed fair_force.lua
	fairForceText string
)

// The scripts of the plain lock. Other kinds use them, too, where they do not differ.
var (
	Acquire = load("acquire", leasesText+answersText+channelText+expireText+grantText+acquireText)
	Renew   = load("renew", leasesText+answersText+channelText+expireText+confirmText+renewText)
	Release = load("release", answersText+channelText+releaseText)
	Force   = load("force", channelText+deleteText+forceText)
	State   = load("state", stateText)
)

// The scripts of the fenced lock.
var (
	FencedAcquire = load("fenced_acquire", leasesText+channelText+expireText+grantText+tokenText+fencedAcquireText)
	FencedPass    = load("fenced_pass", channelText+expireText+confirmText+tokenText+fencedPassText)
)

// JointAcquire takes several plain locks at once, all or none.
var JointAcquire = load("joint_acquire", answersText+channelText+expireText+grantText+jointAcquireText)

// The scripts of the fair lock.
var (
	FairAcquire = load("fair_acquire", answersText+channelText+expireText+grantText+deleteText+fairQueueText+fairAcquireText)
	FairRelease = load("fair_release", channelText+deleteText+fairQueueText+fairReleaseText)
	FairForce   = load("fair_force", channelText+deleteText+fairQueueText+fairForceText)
)

func load(name, text string) Script {
	text = localsText + text
	sum := sha1.Sum([]byte(text))
	return Script{Name: name, Text: text, SHA1: hex.EncodeToString(sum[:])}
}

// All returns every script, for a server that is to learn them.
func All() []Script {
	all := []Script{
		Acquire, Renew, Release, Force, State, JointAcquire,
		FencedAcquire, FencedPass,
		FairAcquire, FairRelease, FairForce,
	}
	return append(all, readWrite[:]...)
}
