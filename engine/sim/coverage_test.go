package sim

// simExpectedTransitions are all ways in which a lock can go from one phase to the next, or stay. Ways that the default
// number of seeds may miss are left out.
var simExpectedTransitions = map[string]string{
	"acquiring → acquiring": "acquire taken, acquire unanswered, called, cancel, doubt, drain, extend, fair acquire refused, " +
		"fair acquire taken, fair acquire unanswered, fair release done, fair release gone, fenced acquire " +
		"taken, fenced acquire unanswered, fenced pass done, force, foremost, heard, joint acquire taken, joint " +
		"acquire unanswered, lock, moved, nudged, overdue, read acquire taken, read acquire unanswered, " +
		"read release done, read release gone, read release refused, read release unanswered, release " +
		"done, release gone, release refused, release unanswered, renew done, renew gone, renew refused, " +
		"renew unanswered, subscribed, unheard, unlock, woken, write acquire taken, write " +
		"acquire unanswered, write release done, write release gone, write release refused, write release " +
		"unanswered, write renew done, write renew unanswered",
	"acquiring → releasing": "acquire done, cancel, drain, fair acquire done, fair acquire refused, fair acquire taken, fair " +
		"acquire unanswered, fenced acquire done, joint acquire done, overdue, read acquire done, " +
		"write acquire done",
	"acquiring → forcing": "acquire done, acquire refused, acquire taken, fenced acquire done, fenced acquire taken, " +
		"write acquire taken",
	"acquiring → free": "acquire refused, acquire taken, acquire unanswered, cancel, fair acquire refused, fair acquire " +
		"taken, fenced acquire refused, fenced acquire taken, fenced acquire unanswered, joint acquire " +
		"refused, joint acquire taken, joint acquire unanswered, overdue, read acquire refused, read " +
		"acquire taken, read acquire unanswered, write acquire refused, write acquire taken, " +
		"write acquire unanswered",
	"acquiring → held": "acquire done, fair acquire done, fenced acquire done, joint acquire done, read acquire done, " +
		"write acquire done",
	"releasing → acquiring": "fair release done, heard, lock, read release done, read release gone, release done, release gone, " +
		"release refused, renew gone, woken, write release done, write release gone",
	"releasing → releasing": "called, cancel, doubt, drain, extend, fair release refused, fair release unanswered, fenced pass " +
		"done, force, heard, lock, moved, nudged, overdue, read release refused, read release unanswered, " +
		"read renew done, read renew unanswered, release gone, release refused, release unanswered, renew " +
		"done, renew refused, renew unanswered, subscribed, unheard, unlock, woken, write " +
		"release refused, write release unanswered, write renew done, write renew unanswered",
	"releasing → forcing": "release done, release gone",
	"releasing → free": "cancel, fair release done, fair release gone, fair release refused, fair release unanswered, " +
		"heard, read release done, read release gone, read release refused, read renew gone, release done, " +
		"release gone, release refused, renew gone, woken, write release done, write release gone",
	"forcing → acquiring": "force done, force gone, force refused, force unanswered, write force done, write force " +
		"gone",
	"forcing → forcing": "called, cancel, doubt, drain, extend, force, force done, force unanswered, heard, lock, moved, " +
		"overdue, release done, release gone, release refused, release unanswered, renew done, renew gone, " +
		"renew unanswered, subscribed, unheard, unlock, woken",
	"forcing → free": "fair force done, fair force gone, fair force refused, fair force unanswered, force done, force " +
		"gone, force refused, force unanswered, read force done, read force gone, read force unanswered, " +
		"write force done, write force gone, write force unanswered",
	"free → acquiring": "called, cancel, doubt, extend, heard, lock, nudged, overdue, release gone, subscribed, unheard, " +
		"unlock, woken",
	"free → forcing": "force, woken",
	"free → free": "called, cancel, doubt, drain, extend, fair release done, fair release gone, fair release refused, " +
		"fair release unanswered, found, heard, lock, moved, nudged, overdue, read release done, read " +
		"release gone, read release refused, read release unanswered, read renew done, read renew gone, " +
		"read renew unanswered, release done, release gone, release refused, release unanswered, renew " +
		"done, renew gone, renew unanswered, subscribed, unheard, unlock, woken, write release " +
		"done, write release gone, write release refused, write release unanswered, write renew done",
	"held → acquiring": "cancel, extend, fenced pass done, fenced pass gone, heard, lock, read renew gone, renew " +
		"done, renew gone, renew refused, subscribed, unlock, woken, write renew gone",
	"held → releasing": "cancel, drain, fenced pass done, fenced pass unanswered, lock, overdue, renew done, renew " +
		"unanswered, unlock, woken, write renew done",
	"held → forcing": "force",
	"held → free": "cancel, displaced, drain, extend, heard, moved, read renew done, read renew gone, " +
		"read renew refused, renew done, renew gone, renew refused, unlock, woken, write renew gone",
	"held → held": "called, cancel, doubt, drain, extend, fenced pass done, fenced pass refused, fenced pass " +
		"unanswered, heard, lock, moved, nudged, overdue, read release gone, read renew done, read renew " +
		"refused, read renew unanswered, release gone, release refused, release unanswered, renew done, " +
		"renew gone, renew refused, renew unanswered, subscribed, unheard, unlock, woken, write release " +
		"gone, write renew done, write renew refused, write renew unanswered",
}
