package engine

// simWays are all ways in which a lock can go from one phase to the next, or stay, that are not too rare for
// the seeds that run when nobody says how many.
var simWays = map[string]string{
	"asking → asking": "acquire taken, acquire unanswered, cancel, doubt, drain, extend, fair acquire refused, " +
		"fair acquire taken, fair acquire unanswered, fair release done, fair release gone, force, " +
		"heard, lock, overdue, release done, release gone, release refused, release unanswered, " +
		"renew done, renew gone, renew refused, renew unanswered, subscribed, unlock, withdrawn, woken",
	"asking → ending": "acquire done, fair acquire done, fair acquire refused, fair acquire taken, " +
		"fair acquire unanswered",
	"asking → forcing": "acquire done, acquire refused, acquire taken, acquire unanswered, withdrawn",
	"asking → free": "acquire refused, acquire taken, acquire unanswered, cancel, fair acquire refused, " +
		"fair acquire taken, overdue, withdrawn",
	"asking → held": "acquire done, fair acquire done",
	"ending → asking": "cancel, fair release done, fair release gone, heard, lock, release done, release gone, " +
		"release refused, renew gone, woken",
	"ending → ending": "cancel, doubt, drain, extend, fair release refused, fair release unanswered, force, heard, " +
		"lock, overdue, release gone, release refused, release unanswered, renew done, renew refused, " +
		"renew unanswered, subscribed, unlock, withdrawn, woken",
	"ending → forcing": "release done, release gone, woken",
	"ending → free": "cancel, fair release done, fair release gone, fair release refused, fair release unanswered, " +
		"heard, overdue, release done, release gone, release refused, renew done, renew gone, woken",
	"forcing → asking": "force done, force gone, force refused, force unanswered, withdrawn",
	"forcing → forcing": "cancel, doubt, drain, extend, force, force done, force gone, force unanswered, heard, lock, " +
		"overdue, release done, release gone, release refused, release unanswered, renew done, " +
		"renew gone, renew unanswered, subscribed, unlock, withdrawn, woken",
	"forcing → free": "fair force done, fair force gone, fair force refused, fair force unanswered, force done, " +
		"force gone, force refused, force unanswered, withdrawn",
	"free → asking": "cancel, doubt, extend, heard, lock, overdue, release gone, release refused, release unanswered, " +
		"subscribed, unlock, woken",
	"free → forcing": "force, woken",
	"free → free": "cancel, doubt, drain, extend, fair release done, fair release gone, fair release refused, " +
		"fair release unanswered, found, heard, lock, overdue, release done, release gone, " +
		"release refused, release unanswered, renew done, renew gone, renew refused, renew unanswered, " +
		"subscribed, unheard, unlock, withdrawn, woken",
	"held → asking": "cancel, doubt, extend, fenced pass done, fenced pass gone, fenced pass refused, heard, lock, " +
		"overdue, renew done, renew gone, renew refused, renew unanswered, subscribed, unheard, unlock, " +
		"woken",
	"held → ending": "cancel, drain, fenced pass done, fenced pass unanswered, heard, lock, overdue, renew done, " +
		"renew unanswered, unlock, woken",
	"held → forcing": "force",
	"held → free": "cancel, displaced, doubt, drain, extend, heard, overdue, renew done, renew gone, renew refused, " +
		"renew unanswered, unlock, woken",
	"held → held": "cancel, doubt, drain, extend, fenced pass done, fenced pass refused, fenced pass unanswered, " +
		"heard, lock, overdue, release gone, release refused, release unanswered, renew done, " +
		"renew gone, renew refused, renew unanswered, subscribed, unheard, unlock, woken",
}
