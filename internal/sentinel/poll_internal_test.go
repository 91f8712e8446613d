package sentinel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	oldMaster  = "old:6379"
	nextMaster = "next:6379"
)

var three = []string{"s0:1", "s1:1", "s2:1"}

// says returns the answer of one of the three sentinels.
func says(from int, master string, epoch int64) *answer {
	a := &answer{from: three[from], outcome: told, master: master, epoch: epoch}
	for i, other := range three {
		if i != from {
			a.others = append(a.others, other)
		}
	}
	return a
}

func rejects(from int) *answer { return &answer{from: three[from], outcome: rejected} }

func noReply(from int) *answer { return &answer{from: three[from]} }

// unseen is what a client knows that has followed nothing yet.
func unseen() *view { return &view{epoch: untold, total: len(three)} }

func atNext() *view {
	return &view{master: nextMaster, epoch: 1, sentinels: three, total: len(three)}
}

func TestPoll_Answers_Verdict(t *testing.T) {
	for _, c := range []struct {
		name      string
		candidate string
		seen      *view
		answers   []*answer
		over      bool
		want      verdict
	}{
		{"first: most name it", oldMaster, unseen(), []*answer{says(0, oldMaster, 0), says(1, oldMaster, 0)}, false, follow},
		{"first: one names it", oldMaster, unseen(), []*answer{says(0, oldMaster, 0)}, false, undecided},
		{"first: one names it, the others are silent", oldMaster, unseen(), []*answer{says(0, oldMaster, 0)}, true, follow},
		{"first: another one knows better", oldMaster, unseen(), []*answer{says(2, oldMaster, 0), says(0, nextMaster, 1), noReply(1)}, false, refuse},
		{"first: one that is not in yet may name it", oldMaster, unseen(), []*answer{says(2, oldMaster, 0), says(0, nextMaster, 1)}, false, undecided},
		{"first: all are silent", oldMaster, unseen(), nil, true, follow},
		{"first: the user may not ask", oldMaster, unseen(), []*answer{rejects(0), rejects(1)}, false, follow},
		{"first: none has replied yet", oldMaster, unseen(), nil, false, undecided},

		{"forward: the news is not everywhere yet", nextMaster, &view{master: oldMaster, total: 3}, []*answer{says(0, nextMaster, 1), says(1, oldMaster, 0)}, false, follow},
		{"forward: one knows it, others are silent", nextMaster, &view{master: oldMaster, total: 3}, []*answer{says(0, nextMaster, 1)}, true, follow},
		{"forward: to a master that is no longer the newest", nextMaster, &view{master: oldMaster, total: 3}, []*answer{says(0, "third:1", 2), says(1, nextMaster, 1), says(2, oldMaster, 0)}, false, refuse},
		{"forward: the user may no longer ask", nextMaster, &view{master: oldMaster, total: 3}, []*answer{rejects(0), noReply(1), noReply(2)}, false, follow},

		{"back: another one knows better", oldMaster, atNext(), []*answer{says(2, oldMaster, 0), says(0, nextMaster, 1), noReply(1)}, false, refuse},
		{"back: the only one that replies missed it", oldMaster, atNext(), []*answer{says(2, oldMaster, 0)}, true, refuse},
		{"back: it has lost what it knew of the others", oldMaster, atNext(), []*answer{{from: three[2], outcome: told, master: oldMaster}}, true, refuse},
		{"back: all are silent", oldMaster, atNext(), nil, true, refuse},
		{"back: no sentinel names it any more", oldMaster, atNext(), []*answer{says(0, nextMaster, 1), says(1, nextMaster, 1), says(2, nextMaster, 1)}, false, refuse},
		{"back: failed over once more", oldMaster, atNext(), []*answer{says(0, oldMaster, 2), says(1, oldMaster, 2)}, false, follow},
		{"back: the user may no longer ask", oldMaster, atNext(), []*answer{rejects(0), rejects(1)}, false, follow},
		{"set up anew: most name it", oldMaster, atNext(), []*answer{says(0, oldMaster, 0), says(1, oldMaster, 0)}, false, follow},
		{"set up anew: one was forgotten", oldMaster, atNext(), []*answer{says(2, nextMaster, 1), says(0, oldMaster, 0), says(1, oldMaster, 0)}, false, follow},
		{"set up anew: from one that was set up", "third:1", &view{master: oldMaster, total: 3}, []*answer{says(0, "third:1", 0), says(1, oldMaster, 0)}, false, follow},

		{"one sentinel: it is believed", oldMaster, &view{master: nextMaster, epoch: 1, total: 1}, []*answer{{outcome: told, master: oldMaster}}, false, follow},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPoll(c.candidate, c.seen, three)
			for _, a := range c.answers {
				require.Equal(t, undecided, p.verdict())
				p.add(a)
			}
			p.over = c.over
			require.Equal(t, c.want, p.verdict())
		})
	}
}

// A client also asks the sentinels that replied last: those of its options may all have gone.
func TestPoll_SentinelsOfOptionsGone_LearnedOnesDecide(t *testing.T) {
	p := newPoll(oldMaster, &view{master: nextMaster, epoch: 1, total: 3, sentinels: three}, []string{"gone:1"})
	require.Equal(t, append([]string{"gone:1"}, three...), p.asked)
	require.Equal(t, 4, p.waiting)
	p.add(&answer{from: "gone:1"})
	p.add(says(0, nextMaster, 1))
	p.add(says(1, nextMaster, 1))
	p.over = true
	require.Equal(t, refuse, p.verdict())
}

// Half of the sentinels are not most of them.
func TestPoll_HalfNameOlder_Refused(t *testing.T) {
	p := newPoll(oldMaster, &view{epoch: untold, total: 2}, three[:2])
	p.add(&answer{from: three[0], outcome: told, master: oldMaster, others: three[1:2]})
	require.Equal(t, undecided, p.verdict())
	p.add(&answer{from: three[1], outcome: told, master: nextMaster, epoch: 1, others: three[:1]})
	require.Equal(t, refuse, p.verdict())
}

// One sentinel may have several addresses. It has one vote.
func TestPoll_SentinelAtTwoAddresses_OneVote(t *testing.T) {
	p := newPoll(oldMaster, atNext(), []string{"name:1"})
	alias := says(2, oldMaster, 0)
	alias.from = "name:1"
	p.add(alias)
	p.add(says(2, oldMaster, 0))
	p.over = true
	require.Equal(t, refuse, p.verdict())
}

// Two sentinels that do not know each other yet may know the same others. They count as one, which knows the newer
// master.
func TestPoll_SameOthers_NewerMasterCounts(t *testing.T) {
	newer := &answer{from: three[0], outcome: told, master: nextMaster, epoch: 1}
	older := &answer{from: three[1], outcome: told, master: oldMaster}
	for _, answers := range [][]*answer{{newer, older}, {older, newer}} {
		for candidate, want := range map[string]verdict{oldMaster: refuse, nextMaster: follow} {
			p := newPoll(candidate, &view{epoch: untold, total: 2}, three[:2])
			for _, a := range answers {
				p.add(a)
			}
			require.Equal(t, want, p.verdict(), candidate)
		}
	}
}

// Sentinels that others name are asked as well, each once, and at most 16 in all.
func TestPoll_Others_AskedOnceUpToLimit(t *testing.T) {
	p := newPoll(oldMaster, unseen(), three[:1])
	require.Equal(t, three[:1], p.asked)
	require.Equal(t, three[1:], p.add(says(0, oldMaster, 0)))
	require.Empty(t, p.add(says(1, oldMaster, 0)))
	many := says(2, oldMaster, 0)
	for i := range 100 {
		many.others = append(many.others, string(rune('a'+i)))
	}
	require.Len(t, p.add(many), maxAsked-3)
	require.Equal(t, maxAsked-3, p.waiting)
	require.Empty(t, p.add(many))
}

// The next poll asks those that replied. Others have gone, and would take the place of new ones.
func TestPoll_Followed_RemembersThoseThatReplied(t *testing.T) {
	p := newPoll(nextMaster, unseen(), three)
	p.add(says(0, nextMaster, 7))
	p.add(noReply(1))
	p.add(rejects(2))
	require.Equal(t, follow, p.verdict())
	require.Equal(t, &view{master: nextMaster, epoch: 7, sentinels: []string{three[0], three[2]}, total: 3}, p.next(nextMaster))
}

// A sentinel does not list itself, and is one of them all the same. The addresses of a client may name few of them.
func TestPoll_OneOfTwoInAddresses_NotMost(t *testing.T) {
	p := newPoll(oldMaster, &view{epoch: untold}, three[:1])
	p.add(&answer{from: three[0], outcome: told, master: oldMaster, others: three[1:2]})
	require.Equal(t, undecided, p.verdict())
	p.add(&answer{from: three[1], outcome: told, master: nextMaster, epoch: 1, others: three[:1]})
	require.Equal(t, refuse, p.verdict())
}
