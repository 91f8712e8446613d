package identity

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// channelPrefix comes before an engine's id in the name of its channel. Databases and prefixes of names share
	// channels: a holder's id alone says where its engine is reached.
	channelPrefix = "lockwheel:engine:"
	// askerPrefix comes before the id of a question in the channel on which its answer is expected.
	askerPrefix = "lockwheel:asker:"
	// maxBits is the size of the largest number in an answer that is believed: as many milliseconds are a Duration.
	maxBits = 43
	// MaxMessage is the length of the longest message that an engine looks at: that about the longest key, 64 KiB.
	MaxMessage = 64<<10 + 256
)

// EngineChannel returns the channel of an engine.
func EngineChannel(id string) string { return channelPrefix + id }

// AskerChannel returns the channel for the answer to a question.
func AskerChannel(asker string) string { return askerPrefix + asker }

// Message is a message to an engine: Forced, or else a question of an asker. The zero value is neither.
type Message struct {
	Forced  bool   // the lock of the key was taken away
	Asker   string // the id of the question
	Waiters bool   // the question: how many callers of the engine wait; otherwise that about Tenure
	Tenure  uint64 // the question: since when does the engine have this tenure
	Key     string
}

// ParseMessage returns a message to an engine. ok is false for another text: any client can send one.
func ParseMessage(text string) (m Message, ok bool) {
	if len(text) > MaxMessage {
		return m, false
	}
	what, rest, _ := strings.Cut(text, " ")
	switch what {
	case "forced":
		return Message{Forced: true, Key: rest}, rest != ""
	case "since":
		asker, rest, _ := strings.Cut(rest, " ")
		number, key, _ := strings.Cut(rest, " ")
		tenure, err := strconv.ParseUint(number, 10, 64)
		return Message{Asker: asker, Tenure: tenure, Key: key}, err == nil && key != "" && engineID.MatchString(asker)
	case "waiters":
		asker, key, _ := strings.Cut(rest, " ")
		return Message{Waiters: true, Asker: asker, Key: key}, key != "" && engineID.MatchString(asker)
	}
	return m, false
}

// Question returns the text of a question about a holder.
func Question(asker string, tenure uint64, key string) string {
	return "since " + asker + " " + strconv.FormatUint(tenure, 10) + " " + key
}

// WaitersQuestion returns the text of a question about waiters.
func WaitersQuestion(asker, key string) string { return "waiters " + asker + " " + key }

// Answer is an engine's reply to a question about a holder.
type Answer struct {
	Held bool          // the engine has that tenure; otherwise Age is zero
	Age  time.Duration // how long the owner has had the lock
}

// Text returns the text of an answer.
func (a *Answer) Text() string {
	if !a.Held {
		return "free"
	}
	return "held " + strconv.FormatInt(max(a.Age, 0).Milliseconds(), 10)
}

// ParseAnswer returns an answer. ok is false for another text.
func ParseAnswer(text string) (a Answer, ok bool) {
	if text == "free" {
		return a, true
	}
	age, ok := strings.CutPrefix(text, "held ")
	age, _, _ = strings.Cut(age, " ") // a later version may say more
	ms, err := strconv.ParseInt(age, 10, maxBits)
	if !ok || err != nil || ms < 0 {
		return Answer{}, false
	}
	return Answer{Held: true, Age: time.Duration(ms) * time.Millisecond}, true
}

// Waiters is an engine's reply to a question about waiters. The zero value is that of no engine.
type Waiters struct {
	Engine        string        // the id of the engine, because many reply on one channel
	Waiting       int           // so many of its callers wait; 0: none does
	More          bool          // it has not looked at all of them: at least so many wait
	Age           time.Duration // how long the first of them has waited; 0 if none waits
	Subscriptions int           // so many channels of the lock it listens to: one is counted there once for all its callers
}

// notAll is the word of an answer that does not count all waiters.
const notAll = "more"

// Text returns the text of an answer.
func (w *Waiters) Text() string {
	text := "waiters " + w.Engine
	for _, n := range []int64{int64(w.Waiting), max(w.Age, 0).Milliseconds(), int64(w.Subscriptions)} {
		text += " " + strconv.FormatInt(n, 10)
	}
	if w.More {
		text += " " + notAll
	}
	return text
}

// ParseWaiters returns an answer. ok is false for another text. Further words are those of a later version.
func ParseWaiters(text string) (w Waiters, ok bool) {
	words := strings.Split(text, " ")
	if len(text) > MaxMessage || len(words) < 5 || words[0] != "waiters" || words[1] == "" {
		return w, false
	}
	var numbers [3]int64
	for i := range numbers {
		n, err := strconv.ParseInt(words[2+i], 10, maxBits)
		if err != nil || n < 0 {
			return w, false
		}
		numbers[i] = n
	}
	w.Engine, w.Waiting, w.Subscriptions = words[1], int(min(numbers[0], math.MaxInt32)), int(min(numbers[2], math.MaxInt32))
	w.Age, w.More = time.Duration(numbers[1])*time.Millisecond, slices.Contains(words[5:], notAll)
	return w, true
}
