// Package scripts contains the Lua scripts of the locks, one file per script; lib/ has what several share. Each file
// begins with its keys, arguments and replies, and with what happens when it is sent twice or late.
//
//   - Only the scripts of the fair lock decide by the server's clock.
//   - Each script takes many keys and replies per key, so a rejected key does not affect the others.
//   - The scripts use redis.pcall only, because an error raised for one key would end the script halfway.
//   - Constants go to the server as strings. The server formats a Lua number with printf, which made an acquire or a
//     release 7 to 10 % more expensive.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package scripts

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

// Script is one script as it is sent to the server.
type Script struct {
	Name string // the file's name without its ending
	Text string // what EVAL and SCRIPT LOAD take
	SHA1 string // what EVALSHA takes
}

// Preludes, in lib/: functions that several scripts share. load puts them before a script's own text.
var (
	//go:embed lib/locals.lua
	localsText string
	//go:embed lib/expire.lua
	expireText string
	//go:embed lib/leases.lua
	leasesText string
	//go:embed lib/answers.lua
	answersText string
	//go:embed lib/channel.lua
	channelText string
	//go:embed lib/delete.lua
	deleteText string
	//go:embed lib/no_hash.lua
	noHashText string
	//go:embed lib/stored_count.lua
	storedCountText string
	//go:embed lib/tell_engines.lua
	tellEnginesText string
	//go:embed lib/grant.lua
	grantText string
	//go:embed lib/confirm.lua
	confirmText string
	//go:embed lib/orphans.lua
	orphansText string
	//go:embed lib/token.lua
	tokenText string
	//go:embed lib/fair_places.lua
	fairPlacesText string
	//go:embed lib/fair_gone.lua
	fairGoneText string
	//go:embed lib/fair_queue.lua
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
	//go:embed fenced_renew.lua
	fencedRenewText string
	//go:embed multi_acquire.lua
	multiAcquireText string
	//go:embed fair_acquire.lua
	fairAcquireText string
	//go:embed fair_release.lua
	fairReleaseText string
	//go:embed fair_force.lua
	fairForceText string
)

// The scripts of the plain lock. Other kinds use them where they do not differ.
var (
	Acquire = load("acquire", leasesText+answersText+channelText+orphansText+expireText+noHashText+grantText+acquireText)
	Renew   = load("renew", leasesText+answersText+channelText+expireText+confirmText+renewText)
	Release = load("release", answersText+channelText+releaseText)
	Force   = load("force", noHashText+channelText+deleteText+tellEnginesText+forceText)
	State   = load("state", noHashText+storedCountText+stateText)
)

// The scripts of the fenced lock.
var (
	FencedAcquire = load("fenced_acquire", leasesText+channelText+orphansText+expireText+noHashText+grantText+tokenText+fencedAcquireText)
	FencedRenew   = load("fenced_renew", channelText+expireText+confirmText+tokenText+fencedRenewText)
)

// MultiAcquire acquires several plain locks atomically: all or none.
var MultiAcquire = load("multi_acquire", answersText+channelText+orphansText+expireText+noHashText+grantText+multiAcquireText)

// fairText is what the scripts of the fair lock share.
var fairText = channelText + deleteText + fairPlacesText + "\n" + fairGoneText + "\n" + fairQueueText

// The scripts of the fair lock.
var (
	FairAcquire = load("fair_acquire", answersText+expireText+noHashText+grantText+fairText+fairAcquireText)
	FairRelease = load("fair_release", fairText+fairReleaseText)
	FairForce   = load("fair_force", noHashText+fairText+tellEnginesText+fairForceText)
)

func load(name, text string) Script {
	text = localsText + text
	sum := sha1.Sum([]byte(text))
	return Script{Name: name, Text: text, SHA1: hex.EncodeToString(sum[:])}
}

// All returns every script, for loading them into a server.
func All() []Script {
	all := []Script{
		Acquire, Renew, Release, Force, State, MultiAcquire,
		FencedAcquire, FencedRenew,
		FairAcquire, FairRelease, FairForce,
	}
	return append(all, rwScripts[:]...)
}
