package scripts_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// model is a second implementation of the scripts: locks by key, with words instead of commands. TTLs do not fall in
// it, and the leases of the test are so far apart that this does not show.
type model struct {
	keys      map[string]*lock
	published []message
}

type lock struct {
	id, count string // id "": a key of another type
	ttl       int    // in seconds; -1: none
}

const wrong, noHash = "WRONGTYPE…", "[WRONGTYPE… -1 string]"

func (m *model) release(key, id string) string {
	switch l := m.keys[key]; {
	case l == nil:
		return "0"
	case l.id == "":
		return wrong
	case l.id != id:
		return "0"
	}
	delete(m.keys, key)
	m.publish(key, "0")
	return "1"
}

func (m *model) acquire(key, id string, lease int) string {
	switch l := m.keys[key]; {
	case l == nil:
		m.keys[key] = &lock{id, "1", lease}
	case l.id == "":
		return noHash
	case l.id == id:
		l.ttl = max(l.ttl, lease)
	case l.ttl < 0:
		return "[-1 '']"
	default:
		return fmt.Sprintf("[%ds %s]", l.ttl, l.id)
	}
	return "1"
}

func (m *model) renew(key, id string, lease int) string {
	l := m.keys[key]
	switch {
	case l == nil:
		return "0"
	case l.id == "":
		return wrong
	case l.id != id:
		return "0"
	case lease != 0:
		if l.ttl < 0 || 10*lease < 9*l.ttl {
			m.publish(key, "1")
		}
		l.ttl = lease
	}
	return "1"
}

func (m *model) publish(key, payload string) {
	m.published = append(m.published, message{"redisson_lock__channel:{" + key + "}", payload})
}

func (m *model) force(key string) string {
	if l := m.keys[key]; l != nil {
		if l.id == "" {
			return noHash
		}
		return m.release(key, l.id)
	}
	return "0"
}

func (m *model) state(key string) string {
	switch l := m.keys[key]; {
	case l == nil:
		return "[-2 '' 0]"
	case l.id == "":
		return noHash
	case l.ttl < 0:
		return fmt.Sprintf("[-1 %s %s]", l.id, l.count)
	default:
		return fmt.Sprintf("[%ds %s %s]", l.ttl, l.id, l.count)
	}
}

// answer returns the reply that a step of a conversation should get.
func (m *model) answer(words []string) string {
	main, extra, _ := strings.Cut(strings.Join(words[1:], " "), " extra")
	main, orphans, _ := strings.Cut(main, " orphans")
	for _, word := range strings.Fields(orphans) {
		parts := strings.Split(word, ":")
		m.release(parts[0], parts[1])
	}
	var keys, out []string
	for _, word := range strings.Fields(main) {
		parts := strings.Split(word+"::", ":")
		lease, _ := strconv.Atoi(strings.TrimSuffix(parts[2], "s"))
		keys = append(keys, parts[0])
		switch words[0] {
		case "acquire":
			out = append(out, m.acquire(parts[0], parts[1], lease))
		case "renew":
			out = append(out, m.renew(parts[0], parts[1], lease))
		case "release":
			out = append(out, m.release(parts[0], parts[1]))
		case "force":
			out = append(out, m.force(parts[0]))
		case "state":
			out = append(out, m.state(parts[0]))
		}
	}
	for _, word := range strings.Fields(extra) {
		parts := strings.Split(word, ":")
		for i, key := range keys {
			if key == parts[0] && out[i] == "1" {
				m.keys[key].count = parts[1]
				out[i] = "[1 1 -1]"
			}
		}
	}
	return strings.Join(out, " ")
}

// randomStep returns a call of one to four keys, for tenures that may have ended long ago.
func randomStep(r *rand.Rand) []string {
	keys := strings.Fields("a b c d e")
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:1+r.IntN(4)]
	tenure := func() string { return fmt.Sprintf("t%d", r.IntN(4)) }
	verb := []string{"acquire", "acquire", "acquire", "renew", "renew", "release", "release", "state", "force"}[r.IntN(9)]
	step, extra := []string{verb}, []string(nil)
	for _, key := range keys {
		switch verb {
		case "acquire":
			key += fmt.Sprintf(":%s:%ds", tenure(), 100*(1+r.IntN(9)))
			if r.IntN(4) == 0 {
				extra = append(extra, "orphans", key[:1]+":"+tenure())
			}
		case "renew":
			key += fmt.Sprintf(":%s:%ds", tenure(), 100*r.IntN(9))
			if r.IntN(3) == 0 {
				extra = append(extra, "extra", key[:1]+fmt.Sprintf(":%d:", 1+r.IntN(9)))
			}
		case "release":
			key += ":" + tenure()
		}
		step = append(step, key)
	}
	if len(extra) > 0 { // its first word comes once
		step = append(step, extra[0])
		for i := 1; i < len(extra); i += 2 {
			step = append(step, extra[i])
		}
	}
	return step
}

// Any call may run once, twice, or long after newer ones of other tenures: the server has and replies what the model
// has and replies. No key is left without a TTL.
func TestScripts_RandomCalls_MatchModel(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		const steps, seed = 1000, 1
		r := rand.New(rand.NewPCG(seed, seed))
		m, sub := &model{keys: map[string]*lock{}}, s.listen()
		var sent [][]string
		var recent []string
		for n := range steps {
			step := randomStep(r)
			if len(sent) > 0 && r.IntN(2) == 0 { // an old one again
				step = sent[max(0, len(sent)-1-r.IntN(20))]
			} else {
				sent = append(sent, step)
			}
			if n%50 == 0 {
				s.perturb(m, r)
			}
			want, got := m.answer(step), s.step(step, sub)
			recent = append(recent, strings.Join(step, " ")+" → "+got)
			recent = recent[max(0, len(recent)-12):]
			require.Equal(t, want, got, "seed %d, step %d:\n%s", seed, n, strings.Join(recent, "\n"))
			everything := []string{"state", "a", "b", "c", "d", "e"}
			require.Equal(t, m.answer(everything), s.step(everything, sub), "seed %d, step %d:\n%s", seed, n, strings.Join(recent, "\n"))
		}
		require.NotEmpty(t, m.published)
		require.Equal(t, m.published, sub.receive())
	})
}

// perturb changes a key as only other clients do: another type, no TTL, or deleted.
func (s *server) perturb(m *model, r *rand.Rand) {
	key := string("abcde"[r.IntN(5)])
	l := m.keys[key]
	switch {
	case l == nil:
		s.do("SET", key, "x")
		m.keys[key] = &lock{ttl: -1}
	case l.id == "" || r.IntN(2) == 0:
		s.do("DEL", key)
		delete(m.keys, key)
	default:
		s.do("PERSIST", key)
		l.ttl = -1
	}
}
