package identity

import (
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
	// MaxMessage is the length of the longest message that an engine looks at: that about the longest key, 64 KiB.
	MaxMessage = 64<<10 + 256
)

// EngineChannel returns the channel of an engine.
func EngineChannel(id string) string { return channelPrefix + id }

// AskerChannel returns the channel for the answer to a question.
func AskerChannel(asker string) string { return askerPrefix + asker }

// Message is a message to an engine: Forced, or else a question of an asker.
type Message struct {
	Forced bool   // the lock of the key was taken away
	Asker  string // the id of the question
	Tenure uint64 // the question: since when does the engine have this tenure
	Key    string
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
	}
	return m, false
}

// Question returns the text of a question.
func Question(asker string, tenure uint64, key string) string {
	return "since " + asker + " " + strconv.FormatUint(tenure, 10) + " " + key
}

// Answer is an engine's reply to a question.
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
	ms, err := strconv.ParseInt(age, 10, 48)
	if !ok || err != nil || ms < 0 {
		return Answer{}, false
	}
	return Answer{Held: true, Age: time.Duration(ms) * time.Millisecond}, true
}
