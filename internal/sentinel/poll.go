package sentinel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// untold is the epoch of a master of which no sentinel has told one. Any other is greater.
const untold = -1

// view is what a client knows of the master that it last followed to. It is immutable. Guard begins with one without a
// master, with an untold epoch; the zero value would have an epoch.
type view struct {
	master    string
	epoch     int64    // that of the configuration; untold if no sentinel told it
	sentinels []string // those that replied
	total     int      // number of sentinels, as far as known
	conns     lifetime // of the connections to the master
}

// lifetime ends connections. The zero value has none.
type lifetime struct {
	ctx     context.Context
	end     context.CancelFunc
	reached *atomic.Bool  // whether there has been one
	dials   *atomic.Int32 // number of dials of sentinels meanwhile
}

// answer is what one sentinel replied. It is immutable. The zero value is that of a silent sentinel.
type answer struct {
	from    string
	outcome outcome
	master  string // also of a rejected question, if the sentinel names one
	epoch   int64
	others  []string // sorted addresses of the sentinels that it knows
}

type outcome int

const (
	silent   outcome = iota // it was not reached, or did not reply in time
	rejected                // it does not answer this user, or does not know the master
	told
)

// id identifies a sentinel that may have several addresses: none lists itself, so two that know each other list
// different ones. Two that do not know each other may list the same, and count as one: the one with the greater epoch.
func (a *answer) id() string { return strings.Join(a.others, " ") }

type verdict int

const (
	undecided verdict = iota
	follow
	refuse
)

// maxAsked is the maximum number of sentinels that one poll asks.
const maxAsked = 16

// poll decides from the answers of sentinels whether a client may follow to a master. It knows no I/O. newPoll makes
// one; the zero value asks no sentinel. It belongs to one goroutine.
type poll struct {
	candidate string
	seen      *view
	asked     []string
	heard     []string           // sentinels that replied
	waiting   int                // number of sentinels without an answer
	told      map[string]*answer // by the id of the sentinel
	rejected  int                // number of sentinels that did not say
	blind     map[string]string  // masters that those name all the same, by the sentinel's address
	total     int                // number of sentinels, as far as known
	over      bool               // no answer is waited for any more
}

// newPoll returns a poll of the sentinels with these addresses and of those of the last view.
func newPoll(candidate string, seen *view, addresses []string) *poll {
	p := &poll{candidate: candidate, seen: seen, total: seen.total, told: make(map[string]*answer), blind: make(map[string]string)}
	p.ask(addresses)
	p.ask(seen.sentinels)
	return p
}

// ask adds sentinels to those that are asked, and returns the new ones.
func (p *poll) ask(addresses []string) (more []string) {
	for _, address := range addresses {
		if len(p.asked) < maxAsked && !slices.Contains(p.asked, address) {
			p.asked, more = append(p.asked, address), append(more, address)
		}
	}
	p.waiting += len(more)
	return more
}

// add adds an answer. It returns the addresses of sentinels that must be asked as well.
func (p *poll) add(a *answer) (more []string) {
	p.waiting--
	if a.outcome == silent {
		return nil
	}
	p.heard = append(p.heard, a.from)
	if a.outcome == rejected {
		p.rejected++
		p.blind[a.from] = a.master
		return nil
	}
	if same := p.told[a.id()]; same == nil || same.epoch <= a.epoch {
		p.told[a.id()] = a
	}
	p.total = max(p.total, len(a.others)+1)
	return p.ask(a.others)
}

// verdict decides. A master that most sentinels name is followed, whatever its epoch, since an operator may have set
// them up anew. Another is followed unless there is a newer one, which takes the answers of most sentinels, or all that
// come. Without evidence it is followed: the user may not be allowed to ask. Silence is no reason to go back from what
// the client knows.
func (p *poll) verdict() verdict {
	votes, epoch, newest := p.count()
	replaced := newest > epoch && (len(p.told) > 0 || p.rejected == 0)
	most := 2*(len(p.told)+p.rejected) > p.total
	switch settled := p.over || p.waiting == 0; {
	case 2*votes > p.total:
		return follow
	case !settled && (!most || replaced):
		return undecided
	case replaced:
		return refuse
	}
	return follow
}

// count returns how many sentinels name the candidate, the greatest epoch with which they do, and that of any other
// master.
func (p *poll) count() (votes int, epoch, newest int64) {
	epoch, newest = untold, p.seen.epoch
	for _, a := range p.told {
		if a.master == p.candidate {
			votes, epoch = votes+1, max(epoch, a.epoch)
		} else {
			newest = max(newest, a.epoch)
		}
	}
	return votes, epoch, newest
}

// names reports whether a sentinel names the candidate.
func (p *poll) names() bool {
	votes, _, _ := p.count()
	return votes > 0
}

// refusal returns why the client may not follow to the candidate.
func (p *poll) refusal() error {
	if p.names() {
		return fmt.Errorf("a sentinel names %s as the master, which was replaced", p.candidate)
	}
	return fmt.Errorf("%s is no longer the master: it was replaced", p.candidate)
}

// namesNewer reports whether a sentinel names another master, which is the newest that the poll and the client know of.
func (p *poll) namesNewer() bool {
	_, _, newest := p.count()
	return p.namedWith(newest) != ""
}

// namedWith returns a master other than the candidate that a sentinel names with that epoch, or "". Of several it is
// always the same one.
func (p *poll) namedWith(epoch int64) (master string) {
	for _, a := range p.told {
		if a.master != p.candidate && a.epoch == epoch && (master == "" || a.master < master) {
			master = a.master
		}
	}
	return master
}

// successor returns the master that replaced the candidate, which the client has followed to, or "". It has a greater
// epoch, and most sentinels do not name the candidate: an operator may have set them up anew.
func (p *poll) successor() string {
	votes, epoch, newest := p.count()
	next := p.namedWith(newest)
	supports := 0
	for _, a := range p.told {
		if a.master == next {
			supports++
		}
	}
	settled := p.over || p.waiting == 0
	if newest <= max(epoch, p.seen.epoch) || 2*votes > p.total || !settled && 2*supports <= p.total {
		return ""
	}
	return next
}

// namedByMost returns the master that most sentinels name, or "". It is another than the candidate, or has an older
// epoch now.
func (p *poll) namedByMost() string {
	_, epoch, _ := p.count()
	votes := make(map[string]int)
	for _, a := range p.told {
		votes[a.master]++
		if 2*votes[a.master] > p.total && (a.master != p.candidate || epoch < p.seen.epoch) {
			return a.master
		}
	}
	return ""
}

// blindSuccessor returns the master other than the candidate that the sentinel names at which the client is, or "", if
// no sentinel says with which epoch: the user may not be allowed to ask. Others do not count, also while that one is
// silent: without epochs one that missed a failover looks like one that has seen another.
func (p *poll) blindSuccessor(sentinel string) string {
	if master := p.blind[sentinel]; len(p.told) == 0 && master != p.candidate {
		return master
	}
	return ""
}

// next returns the view of a client that follows to a master.
func (p *poll) next(master string) *view {
	epoch := int64(untold)
	for _, a := range p.told {
		if a.master == master {
			epoch = max(epoch, a.epoch)
		}
	}
	return &view{master: master, epoch: epoch, sentinels: p.heard, total: p.total}
}
