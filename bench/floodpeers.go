package bench

import (
	"strconv"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// bearer is a contestant of a flood.
type bearer struct {
	name    string
	waiters []int
	open    func(n int) (flooder, error)
}

// The ways in which lockwheel's waiters wait.
var (
	FloodAsync   = peers.Lockwheel.Name + ", LockAsync"
	FloodBlocked = peers.Lockwheel.Name + ", Lock"
)

func bearersOf(s *Server, p Plan, c Crowd) []bearer {
	return []bearer{
		{FloodAsync, c.Async, func(n int) (flooder, error) {
			w, err := openWheeling(s, n, c.Own)
			return &pendings{wheeling: w}, err
		}},
		{FloodBlocked, c.Blocked, func(n int) (flooder, error) {
			w, err := openWheeling(s, n, c.Own)
			if err != nil {
				return nil, err
			}
			both := &wheelBlocked{wheeling: w}
			both.goroutines.here = &both.here
			return both, nil
		}},
		{peers.Rueidislock.Name, c.Peers, func(n int) (flooder, error) { return openRueidisFlood(s, n, c.Own) }},
		{peers.Redisson.Name, c.Peers, func(n int) (flooder, error) { return openJavaFlood(s, p, n, c.Own) }},
	}
}

// rueidisFlood is the flood of rueidislock, which is woken by changes of keys that it has read.
type rueidisFlood struct {
	blocked
	server *Server
	before int // SETs
}

const rueidisKey = "rueidislock:0:"

func (r *rueidisFlood) occupied() occupation { return occupation{rueidisKey + floodName, "string"} }

// message sets the key of a name again: it stays with another holder.
func (r *rueidisFlood) message(i int) []any {
	return []any{"SET", rueidisKey + r.name(i), "another holder", "PX", occupiedFor.Milliseconds()}
}

func (r *rueidisFlood) post() (err error) {
	if r.before, err = r.server.Calls("set"); err != nil {
		return err
	}
	r.before -= r.prober.begun()
	return r.blocked.post()
}

// asked counts SETs, which only rueidislock sends: one for each of its attempts, and one for each probe.
func (r *rueidisFlood) asked() (bool, error) {
	probes := r.prober.begun()
	now, err := r.server.Calls("set")
	return now-r.before-probes >= r.waiters, err
}

func openRueidisFlood(s *Server, n int, own bool) (flooder, error) {
	client, err := peers.Rueidislock.Open(peers.Config{Addr: s.Addr, Lease: floodLease, Callers: takers, Contended: true})
	if err != nil {
		return nil, err
	}
	h := newHere(client, n, own)
	return &rueidisFlood{blocked: blocked{here: &h}, server: s}, nil
}

// javaFlood is the flood of Redisson. Its waiters and its probes are in the Java process.
type javaFlood struct {
	java   *peers.Java
	flood  *peers.JavaFlood
	server *Server
	own    bool
	n      int
	before int // PTTLs
	phases []*Phase
}

func openJavaFlood(s *Server, p Plan, n int, own bool) (flooder, error) {
	channels := 1
	if own {
		channels = n
	}
	java, err := peers.OpenRedisson(peers.Config{Addr: s.Addr, Lease: floodLease, Channels: channels}, 1, p.WarmUp)
	if err != nil {
		return nil, err
	}
	if err := java.Awake(true); err != nil {
		return nil, err
	}
	return &javaFlood{java: java, flood: java.Flood(floodName, probeName, n, own, floodEvery), server: s, own: own, n: n}, nil
}

func (j *javaFlood) occupied() occupation { return wheelsOwn }

func (j *javaFlood) message(i int) []any {
	if !j.own {
		i = 0
	}
	return channelOf(floodName + strconv.Itoa(i))
}

func (j *javaFlood) keep(holds int) error { return j.java.Take(holds) }

func (j *javaFlood) lost() (int, error) { return j.java.Lost() }

func (j *javaFlood) begin(p *Phase) error {
	j.phases = append(j.phases, p)
	return j.flood.Begin(len(j.phases) - 1)
}

func (j *javaFlood) end(*Phase) {}

func (j *javaFlood) post() (err error) {
	if j.before, err = j.server.Calls("pttl"); err != nil {
		return err
	}
	return j.flood.Post()
}

// asked counts what Redisson sends for waiters only: each failed attempt has a PTTL, one before it subscribes and one after.
func (j *javaFlood) asked() (bool, error) {
	now, err := j.server.Calls("pttl")
	return now-j.before >= 2*j.n, err
}

func (j *javaFlood) ended() (int, error) { return j.flood.Ended() }

func (j *javaFlood) cancel() error { return j.flood.Cancel() }

func (j *javaFlood) used() (measure.Usage, error) { return j.java.Used() }

// stopProbes stores its probes in each phase.
func (j *javaFlood) stopProbes() error {
	for i, phase := range j.phases {
		took, refused, err := j.flood.Probes(i)
		if err != nil {
			return err
		}
		phase.Refused += refused
		for _, d := range took {
			phase.Probe.Record(d)
		}
	}
	return nil
}

func (j *javaFlood) footprint() Footprint {
	threads, rss, err := j.flood.Footprint()
	if err != nil {
		return Footprint{}
	}
	return Footprint{threads, rss}
}

func (j *javaFlood) close() {
	_ = j.flood.End()
	j.java.Close()
}
