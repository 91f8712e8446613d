package lockwheeltest

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/embedded"
)

// Server is an empty server inside the process, with an engine on it. It ends with its test. Its methods may be called
// from any goroutine of the test. Those that can fail the test at once (Open, Lose, HoldElsewhere, Up) may be called
// only from the goroutine that runs the test, as testing.TB.Fatal.
type Server struct {
	t         testing.TB
	redis     *embedded.MemoryServer
	settings  settings
	first     *lockwheel.Engine
	processes atomic.Pointer[[]process] // replaced when one is added or has ended
}

// process is an engine on the server: that of the test, or that of another process.
type process struct {
	engine  *lockwheel.Engine
	prefix  string
	release func() // of HoldElsewhere; nil if the engine is one of the test
}

// Option is a setting of [New].
type Option func(*settings)

type settings struct {
	options        lockwheel.Options
	allowLeftovers bool
}

// WithOptions sets the options of the first engine. Redis and Client must be empty: New fails the test otherwise. The
// processes of [Server.HoldElsewhere] have the same options without Observer, Tracer, Logger and MaxHold. Without
// WithOptions all options have their defaults, such as a Lease of 30s.
func WithOptions(o lockwheel.Options) Option { return func(s *settings) { s.options = o } }

// AllowLeftovers lets the test end with holds that were not unlocked, and with keys in the server. The engines are then
// closed at once. Without it, see [New].
func AllowLeftovers() Option { return func(s *settings) { s.allowLeftovers = true } }

// New starts a server and opens an engine on it. If that fails, it fails the test at once. It opens no port.
//
// When the test ends, its cleanup brings the server up and shuts down all engines, and only then releases what
// [Server.HoldElsewhere] still holds. So calls that wait then end with lockwheel.ErrClosed. Code that is still
// stopping has 2 s to unlock. The test fails if a hold was not unlocked by then, or if a key is left that does not
// belong there. An example is a key of an engine that was closed with holds. The counters of a FencedMutex stay by
// design and do not count. A test that has failed before is not checked.
//
// In a bubble of testing/synctest, call New with the T of the bubble.
func New(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := &Server{t: t, redis: embedded.StartInMemory()}
	for _, set := range opts {
		set(&s.settings)
	}
	s.processes.Store(&[]process{})
	t.Cleanup(s.close)
	s.first = s.Open(s.settings.options)
	return s
}

// Engine returns the engine that New opened. The server closes it; the code under test may close it before.
func (s *Server) Engine() *lockwheel.Engine { return s.first }

// Open opens one more engine on the server, as another process would. The server closes it when the test ends. Open
// fails the test at once if an option is invalid, or if Redis or Client is not empty. It does so while the server is
// down, too, unless Lazy is set: the engine then connects after [Server.Up], as one of lockwheel.Open.
func (s *Server) Open(o lockwheel.Options) *lockwheel.Engine {
	s.t.Helper()
	e := s.open(o)
	s.add(process{engine: e, prefix: o.Prefix})
	return e
}

// open opens an engine that the server does not know yet.
func (s *Server) open(o lockwheel.Options) *lockwheel.Engine {
	s.t.Helper()
	if len(o.Redis.InitAddress) > 0 || o.Client != nil {
		s.t.Fatal("lockwheeltest: Options.Redis and Options.Client must be empty: the server is the test's own")
	}
	o.Redis = s.redis.ClientOption()
	e, err := lockwheel.Open(s.t.Context(), o)
	if err != nil {
		s.t.Fatalf("lockwheeltest: %v", err)
	}
	return e
}

func (s *Server) add(p process) {
	for {
		before := s.processes.Load()
		after := append((*before)[:len(*before):len(*before)], p)
		if s.processes.CompareAndSwap(before, &after) {
			return
		}
	}
}

// remove forgets a process that has ended.
func (s *Server) remove(engine *lockwheel.Engine) {
	for {
		before := s.processes.Load()
		after := slices.DeleteFunc(slices.Clone(*before), func(p process) bool { return p.engine == engine })
		if s.processes.CompareAndSwap(before, &after) {
			return
		}
	}
}

// Held reports whether the lock with that name is held, by any process and in any way. The name is one of the first
// engine: its Options.Prefix comes before it. Held reads the server's data, also while the server is down. Of a lease
// that ends while the server is down, it reports the end.
func (s *Server) Held(name string) bool { return s.redis.Has(s.key(name)) }

// key returns the key of a name of the first engine.
func (s *Server) key(name string) string { return s.settings.options.Prefix + name }
