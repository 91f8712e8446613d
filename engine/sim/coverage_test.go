package sim

// simExpectedTransitions are all ways in which a lock can go from one phase to the next, or stay. Ways that the default
// number of seeds may miss are left out.
var simExpectedTransitions = map[string]string{
	"acquiring → acquiring": "acquire held by other, acquire no reply, cancel, drain, enqueued, extend, fair acquire held by " +
		"other, fair acquire no reply, fair acquire rejected, fair release not found, fair release ok, fenced " +
		"acquire held by other, fenced acquire no reply, fenced renew ok, force, lock, multi acquire held by " +
		"other, multi acquire no reply, notified, queue head, read acquire held by other, read acquire no " +
		"reply, read release no reply, read release not found, read release ok, read release rejected, " +
		"recheck, reconfirm, release no reply, release not found, release ok, release rejected, renew no " +
		"reply, renew not found, renew ok, renew rejected, subscribe failed, subscribed, timed out, timer, " +
		"unlock, write acquire held by other, write acquire no reply, write release no reply, write release " +
		"not found, write release ok, write release rejected, write renew no reply, write renew ok, writer " +
		"gone",
	"acquiring → releasing": "acquire ok, cancel, drain, fair acquire held by other, fair acquire no reply, fair acquire ok, fair " +
		"acquire rejected, fenced acquire ok, multi acquire ok, read acquire ok, timed out, write acquire ok",
	"acquiring → forcing": "acquire held by other, acquire ok, acquire rejected, fenced acquire held by other, fenced acquire " +
		"ok, write acquire held by other",
	"acquiring → free": "acquire held by other, acquire no reply, acquire rejected, cancel, fair acquire held by other, fair " +
		"acquire rejected, fenced acquire held by other, fenced acquire no reply, fenced acquire rejected, " +
		"multi acquire held by other, multi acquire no reply, multi acquire rejected, read acquire held by " +
		"other, read acquire no reply, read acquire rejected, timed out, write acquire held by other, write " +
		"acquire no reply, write acquire rejected",
	"acquiring → held": "acquire ok, fair acquire ok, fenced acquire ok, multi acquire ok, read acquire ok, write acquire ok",
	"releasing → acquiring": "fair release ok, lock, notified, read release not found, read release ok, release not found, release " +
		"ok, release rejected, renew not found, timer, write release not found, write release ok",
	"releasing → releasing": "cancel, drain, enqueued, extend, fair release no reply, fair release rejected, fenced renew ok, " +
		"force, lock, notified, read release no reply, read release rejected, read renew no reply, read renew " +
		"ok, recheck, reconfirm, release no reply, release not found, release rejected, renew no reply, renew " +
		"ok, renew rejected, subscribe failed, subscribed, timed out, timer, unlock, write release no reply, " +
		"write release rejected, write renew no reply, write renew ok, writer gone",
	"releasing → forcing": "release not found, release ok",
	"releasing → free": "cancel, fair release no reply, fair release not found, fair release ok, fair release rejected, " +
		"notified, read release not found, read release ok, read release rejected, read renew not found, " +
		"release not found, release ok, release rejected, renew not found, timer, write release not found, " +
		"write release ok",
	"forcing → acquiring": "force no reply, force not found, force ok, force rejected, write force not found, write force ok",
	"forcing → forcing": "cancel, drain, enqueued, extend, force, force no reply, force ok, lock, notified, reconfirm, release " +
		"no reply, release not found, release ok, release rejected, renew no reply, renew not found, renew " +
		"ok, subscribe failed, subscribed, timed out, timer, unlock, writer gone",
	"forcing → free": "fair force no reply, fair force not found, fair force ok, fair force rejected, force no reply, force " +
		"not found, force ok, force rejected, read force no reply, read force not found, read force ok, write " +
		"force no reply, write force not found, write force ok",
	"free → acquiring": "cancel, extend, lock, notified, recheck, reconfirm, release not found, subscribe failed, subscribed, " +
		"timed out, timer, unlock, writer gone",
	"free → forcing": "force, timer",
	"free → free": "cancel, drain, enqueued, extend, fair release no reply, fair release not found, fair release ok, " +
		"fair release rejected, lock, notified, orphan seen, read release no reply, read release not found, " +
		"read release ok, read release rejected, read renew no reply, read renew not found, read renew ok, " +
		"recheck, reconfirm, release no reply, release not found, release ok, release rejected, renew no " +
		"reply, renew not found, renew ok, subscribe failed, subscribed, timed out, timer, unlock, write " +
		"release no reply, write release not found, write release ok, write release rejected, write renew ok, " +
		"writer gone",
	"held → acquiring": "cancel, extend, fenced renew not found, fenced renew ok, lock, notified, read renew not found, renew " +
		"not found, renew ok, renew rejected, subscribed, timer, unlock, write renew not found",
	"held → releasing": "cancel, drain, fenced renew no reply, fenced renew ok, lock, renew no reply, renew ok, timed out, " +
		"timer, unlock, write renew ok",
	"held → forcing": "force",
	"held → free": "cancel, displaced, drain, enqueued, extend, notified, read renew not found, read renew ok, read " +
		"renew rejected, renew not found, renew ok, renew rejected, timer, unlock, write renew not found",
	"held → held": "cancel, drain, enqueued, extend, fenced renew no reply, fenced renew ok, fenced renew rejected, " +
		"lock, notified, read release not found, read renew no reply, read renew ok, read renew rejected, " +
		"recheck, reconfirm, release no reply, release not found, release rejected, renew no reply, renew not " +
		"found, renew ok, renew rejected, subscribe failed, subscribed, timed out, timer, unlock, write " +
		"release not found, write renew no reply, write renew ok, write renew rejected, writer gone",
}
