package engine

// simWays are all ways in which a lock can go from one phase to the next, or stay, that are not too rare for
// the seeds that run when nobody says how many.
var simWays = map[string]string{
	"asking → asking": "acquire taken, acquire unanswered, cancel, doubt, drain, extend, fenced acquire taken, " +
		"fenced acquire unanswered, fenced pass done, fenced pass gone, fenced pass unanswered, force, " +
		"heard, lock, overdue, release done, release gone, release refused, release unanswered, " +
		"renew done, renew gone, renew refused, renew unanswered, subscribed, unheard, unlock, " +
		"withdrawn, woken",
	"asking → ending": "acquire done, fenced acquire done",
	"asking → forcing": "acquire done, acquire refused, acquire taken, acquire unanswered, fenced acquire done, " +
		"fenced acquire refused, fenced acquire taken, withdrawn",
	"asking → free": "acquire refused, acquire taken, acquire unanswered, cancel, fenced acquire refused, " +
		"fenced acquire taken, fenced acquire unanswered, overdue, withdrawn",
	"asking → held": "acquire done, fenced acquire done",
	"ending → asking": "cancel, heard, lock, release done, release gone, release refused, release unanswered, " +
		"renew gone, woken",
	"ending → ending": "cancel, doubt, drain, extend, fenced pass done, fenced pass unanswered, force, heard, lock, " +
		"overdue, release gone, release refused, release unanswered, renew done, renew refused, " +
		"renew unanswered, subscribed, unheard, unlock, withdrawn, woken",
	"ending → forcing": "release done, release gone, woken",
	"ending → free": "cancel, heard, overdue, release done, release gone, release refused, release unanswered, " +
		"renew done, renew gone, woken",
	"forcing → asking": "force done, force gone, force refused, force unanswered, withdrawn",
	"forcing → forcing": "cancel, doubt, drain, extend, fenced pass done, force, force done, force gone, " +
		"force unanswered, heard, lock, overdue, release done, release gone, release refused, " +
		"release unanswered, renew done, renew gone, renew unanswered, subscribed, unheard, unlock, " +
		"withdrawn, woken",
	"forcing → free": "force done, force gone, force refused, force unanswered, withdrawn",
	"free → asking": "cancel, doubt, extend, heard, lock, overdue, release gone, release refused, " +
		"release unanswered, subscribed, unheard, unlock, woken",
	"free → forcing": "force, woken",
	"free → free": "cancel, doubt, drain, extend, force, heard, lock, overdue, release done, release gone, " +
		"release refused, release unanswered, renew done, renew gone, renew refused, renew unanswered, " +
		"subscribed, unheard, unlock, withdrawn, woken",
	"held → asking": "cancel, doubt, extend, fenced pass done, fenced pass gone, fenced pass refused, heard, lock, " +
		"overdue, renew done, renew gone, renew refused, renew unanswered, subscribed, unheard, unlock, " +
		"woken",
	"held → ending": "cancel, drain, fenced pass done, fenced pass unanswered, heard, lock, overdue, renew done, " +
		"renew unanswered, unlock, woken",
	"held → forcing": "force",
	"held → free": "cancel, doubt, drain, extend, heard, overdue, renew done, renew gone, renew refused, " +
		"renew unanswered, unlock, woken",
	"held → held": "cancel, doubt, drain, extend, fenced pass done, fenced pass refused, fenced pass unanswered, " +
		"heard, lock, overdue, release gone, release refused, release unanswered, renew done, " +
		"renew gone, renew refused, renew unanswered, subscribed, unheard, unlock, woken",
}
