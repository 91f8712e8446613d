package lockwheel_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/embedded"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }

// exampleEngine is an engine on a server in this process, which is closed with it.
type exampleEngine struct {
	*lockwheel.Engine
	server *embedded.Server
}

func (e exampleEngine) Close() {
	e.Engine.Close()
	e.server.Close()
}

// openExample replaces Dial or Open where an example concerns something else.
func openExample(opts ...lockwheel.Options) (context.Context, exampleEngine) {
	server, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	options := append(opts, lockwheel.Options{})[0]
	options.Redis = server.ClientOption()
	engine, err := lockwheel.Open(context.Background(), options)
	if err != nil {
		log.Fatal(err)
	}
	return context.Background(), exampleEngine{engine, server}
}

// charge stands for an operation that must not run twice at a time.
func charge(ctx context.Context, order int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fmt.Println("charging order", order)
	return nil
}

// Compiled, but not run: it needs a server at that address.
func ExampleDial() {
	ctx := context.Background()

	locks, err := lockwheel.Dial(ctx, "redis://127.0.0.1:6379")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	hold, err := locks.Mutex("orders/7").Lock(ctx) // waits until it has it, or ctx ends
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	charge(hold.Context(), 7) // this context ends if the lock is lost
}

// Compiled, but not run: it needs servers at those addresses.
func ExampleOpen() {
	ctx := context.Background()

	locks, err := lockwheel.Open(ctx, lockwheel.Options{
		Redis: rueidis.ClientOption{
			InitAddress: []string{"10.0.0.1:26379", "10.0.0.2:26379"},
			Sentinel:    rueidis.SentinelOption{MasterSet: "locks"},
			Username:    "shop",
			Password:    os.Getenv("REDIS_PASSWORD"),
		},
		Lease:  10 * time.Second, // others wait this long for a process that died
		Prefix: "shop:",          // before every name
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	fmt.Println(locks.Mutex("orders/7").IsLocked(ctx))
}

// Compiled, but not run: it needs a server at that address.
func ExampleParseURL() {
	ctx := context.Background()

	redis, err := lockwheel.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	locks, err := lockwheel.Open(ctx, lockwheel.Options{Redis: redis, Lease: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	fmt.Println(locks.Mutex("orders/7").IsLocked(ctx))
}

// Compiled, but not run: it needs a cluster at those addresses.
func ExampleOpen_cluster() {
	ctx := context.Background()

	locks, err := lockwheel.Open(ctx, lockwheel.Options{
		Redis: rueidis.ClientOption{InitAddress: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	fmt.Println(locks.Mutex("{orders}/7").IsLocked(ctx)) // in one slot with {orders}/8
}

func ExampleMutex_Lock() {
	ctx, locks := openExample()
	defer locks.Close()

	hold, err := locks.Mutex("orders/7").Lock(ctx) // waits until it has it, or ctx ends
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	charge(hold.Context(), 7) // this context ends if the lock is lost
	// Output: charging order 7
}

func ExampleMutex_Do() {
	ctx, locks := openExample()
	defer locks.Close()

	err := locks.Mutex("orders/7").Do(ctx, func(ctx context.Context) error {
		return charge(ctx, 7)
	})
	fmt.Println(err)
	// Output:
	// charging order 7
	// <nil>
}

func ExampleMutex_TryLock() {
	ctx, locks := openExample()
	defer locks.Close()
	elsewhere, _ := locks.Mutex("report").Lock(ctx)
	defer elsewhere.Unlock(ctx)

	hold, err := locks.Mutex("report").TryLock(ctx, lockwheel.Wait(50*time.Millisecond))
	switch {
	case err == nil:
		defer hold.Unlock(ctx)
		fmt.Println("writing the report")
	case errors.Is(err, lockwheel.ErrNotAcquired):
		fmt.Println("another process is writing it")
	default:
		log.Fatal(err)
	}
	// Output: another process is writing it
}

func ExampleLease() {
	ctx, locks := openExample()
	defer locks.Close()

	hold, err := locks.Mutex("warm-up").Lock(ctx, lockwheel.Lease(time.Second))
	if err != nil {
		log.Fatal(err)
	}
	<-hold.Done() // the engine does not renew it
	fmt.Println(hold.Err())
	// Output: lockwheel: lock "warm-up": lock lost: its lease ended
}

func ExampleHold_Extend() {
	ctx, locks := openExample()
	defer locks.Close()

	hold, err := locks.Mutex("import").Lock(ctx, lockwheel.Lease(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	if err := hold.Extend(ctx, time.Hour); err != nil { // an hour from now; 0 would have it renewed from now on
		log.Fatal(err)
	}
	fmt.Println(time.Until(hold.Deadline()).Round(time.Minute))
	// Output: 1h0m0s
}

func ExampleHold_Context() {
	ctx, locks := openExample()
	defer locks.Close()

	account := locks.Mutex("account/7")
	err := account.Do(ctx, func(ctx context.Context) error {
		return account.Do(ctx, func(ctx context.Context) error { // the same owner: at once
			count, err := account.HoldCount(ctx)
			fmt.Println("held", count, "times")
			return err
		})
	})
	fmt.Println(err)
	// Output:
	// held 2 times
	// <nil>
}

func ExampleWithoutOwner() {
	ctx, locks := openExample()
	defer locks.Close()

	account := locks.Mutex("account/7")
	err := account.Do(ctx, func(ctx context.Context) error {
		var audit sync.WaitGroup
		audit.Go(func() {
			_, err := account.TryLock(lockwheel.WithoutOwner(ctx)) // a stranger; with ctx it would re-enter
			fmt.Println(err)
		})
		audit.Wait()
		return nil
	})
	fmt.Println(err)
	// Output:
	// lockwheel: lock "account/7": lock not acquired
	// <nil>
}

func ExampleWithOwner() {
	ctx, locks := openExample()
	defer locks.Close()

	thread := lockwheel.WithOwner(ctx) // whatever is locked with it is re-entered with it
	outer, _ := locks.Mutex("account/7").Lock(thread)
	inner, _ := locks.Mutex("account/7").Lock(thread)
	fmt.Println(locks.Mutex("account/7").HoldCount(thread))
	inner.Unlock(ctx)
	outer.Unlock(ctx)
	// Output: 2 <nil>
}

func ExampleHold_Done() {
	ctx, locks := openExample()
	defer locks.Close()

	hold, err := locks.Mutex("leader").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	leading := hold.Context()              // for all that the lock protects
	locks.Mutex("leader").ForceUnlock(ctx) // an operator, say
	<-leading.Done()                       // also hold.Done(), where there is no context to pass on
	fmt.Println(context.Cause(leading))    // why
	if err := hold.Err(); err != nil {     // ask before what cannot be undone: it compares the clock, too
		fmt.Println("not sending the mail:", errors.Is(err, lockwheel.ErrLost))
	}
	// Output:
	// lockwheel: lock "leader": lock lost: unlocked by force
	// not sending the mail: true
}

func ExampleMutex_LockAsync() {
	ctx, locks := openExample()
	defer locks.Close()

	var waiting []*lockwheel.Pending
	for shard := range 1000 {
		waiting = append(waiting, locks.Mutex(fmt.Sprintf("shard/%d", shard)).LockAsync(ctx))
	}
	for _, p := range waiting {
		<-p.Done() // or in a select, with others
		hold, err := p.Hold()
		if err != nil {
			log.Fatal(err)
		}
		defer hold.Unlock(ctx)
	}
	fmt.Println(locks.Stats().Held, "locks held")
	// Output: 1000 locks held
}

func ExampleEngine_Locks() {
	ctx, locks := openExample()
	defer locks.Close()
	hold, _ := locks.Mutex("leader").Lock(ctx)

	for lock, err := range locks.Locks(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(lock.Kind, lock.Name, lock.HolderID == hold.ID(), time.Since(lock.Since) < time.Minute)
	}
	// Output: plain leader true true
}

func ExampleWithLabel() {
	ctx, locks := openExample()
	defer locks.Close()

	ctx = lockwheel.WithLabel(ctx, "nightly report")
	hold, err := locks.Mutex("warehouse").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	for lock := range locks.Locks(ctx) {
		fmt.Println(lock.Name, lock.Label)
	}
	// Output: warehouse nightly report
}

func ExampleHold_UnlockAsync() {
	ctx, locks := openExample()
	defer locks.Close()
	hold, _ := locks.Mutex("leader").Lock(ctx)

	unlocking := hold.UnlockAsync() // the hold has ended; the release is on its way
	<-unlocking.Done()              // or later, or never
	if err := unlocking.Err(); err != nil {
		log.Print(err)
	}
	fmt.Println(hold.Err())
	// Output: lockwheel: lock "leader": lock not held
}

func ExampleEngine_Ping() {
	ctx, locks := openExample()
	defer locks.Close()

	if err := locks.Ping(ctx); err != nil {
		fmt.Println("no reply now:", err)
	}
	for _, node := range locks.Status() { // an engine without work does not notice an outage
		fmt.Println("down:", node.Down, node.Err)
	}
	// Output: down: false <nil>
}

func ExampleMutex_State() {
	ctx, locks := openExample()
	defer locks.Close()
	hold, _ := locks.Mutex("leader").Lock(ctx)

	state, err := locks.Mutex("leader").State(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(state.Locked, state.Owner == hold.ID(), state.Count, state.TTL > 0)
	// Output: true true 1 true
}

// Which program holds it: see docs/operate/identity.md.
func ExampleMutex_Holder() {
	ctx, locks := openExample()
	defer locks.Close()
	hold, _ := locks.Mutex("orders/7").Lock(ctx)
	defer hold.Unlock(ctx)

	report := func() error {
		h, err := locks.Mutex("orders/7").Holder(ctx)
		if err != nil {
			return err
		}
		log.Printf("%q has it since %v", h.Engine.Name, h.Since) // each is zero while it is not known
		return nil
	}
	fmt.Println(report())
	// Output: <nil>
}

func ExampleMutex_ForceUnlock() {
	ctx, locks := openExample()
	defer locks.Close()
	hold, _ := locks.Mutex("leader").Lock(ctx)

	wasLocked, err := locks.Mutex("leader").ForceUnlock(ctx) // from any holder, in any process
	fmt.Println(wasLocked, err)
	fmt.Println(hold.Err())
	// Output:
	// true <nil>
	// lockwheel: lock "leader": lock lost: unlocked by force
}

func ExampleMutex_Locker() {
	_, locks := openExample()
	defer locks.Close()

	var ledger sync.Locker = locks.Mutex("ledger").Locker()
	ledger.Lock()
	fmt.Println("writing")
	ledger.Unlock()
	// Output: writing
}

// send stands for work under a lock.
func send(ctx context.Context) error {
	fmt.Println("sending the report")
	return ctx.Err()
}

// sendReport is what Redisson's tryLock(wait, lease, unit) and its finally become.
func sendReport(ctx context.Context, locks *lockwheel.Engine) (sent bool, err error) {
	hold, err := locks.Mutex("report").Lock(ctx, lockwheel.Wait(2*time.Second), lockwheel.Lease(10*time.Second))
	if errors.Is(err, lockwheel.ErrNotAcquired) && ctx.Err() == nil {
		return false, nil // another process is at it
	}
	if err != nil {
		return false, err
	}
	defer func() {
		if lost := hold.Unlock(ctx); errors.Is(lost, lockwheel.ErrLost) {
			err = errors.Join(err, lost) // Java would not report this
		}
	}()
	return true, send(hold.Context()) // this context ends after the 10 s
}

func ExampleMutex_Lock_fromRedisson() {
	ctx, locks := openExample()
	defer locks.Close()

	fmt.Println(sendReport(ctx, locks.Engine))
	hold, _ := locks.Mutex("report").Lock(ctx)
	defer hold.Unlock(ctx)
	fmt.Println(sendReport(ctx, locks.Engine))
	// Output:
	// sending the report
	// true <nil>
	// false <nil>
}

// ledger stands for what a fenced lock protects: it remembers the greatest token it has seen.
type ledger struct{ seen uint64 }

func (l *ledger) write(token uint64, entry string) error {
	if token < l.seen {
		return fmt.Errorf("%s: from a holder that lost the lock", entry)
	}
	l.seen = token
	fmt.Println("wrote", entry, "with token", token)
	return nil
}

func ExampleEngine_FencedMutex() {
	ctx, locks := openExample()
	defer locks.Close()
	store := &ledger{}

	hold, err := locks.FencedMutex("invoices").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	if err := store.write(hold.Token(), "invoice 7"); err != nil { // refuses a token less than one it has seen
		log.Fatal(err)
	}
	// Output: wrote invoice 7 with token 1
}

func ExampleEngine_FairMutex() {
	ctx, locks := openExample()
	defer locks.Close()

	err := locks.FairMutex("printer").Do(ctx, func(ctx context.Context) error {
		fmt.Println("printing")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: printing
}

func ExampleEngine_RWMutex() {
	ctx, locks := openExample()
	defer locks.Close()

	catalogue := locks.RWMutex("catalogue")
	read := func(ctx context.Context) error {
		fmt.Println("reading")
		return nil
	}
	err := catalogue.RLocker().Do(ctx, read) // together with other readers
	fmt.Println(err)

	err = catalogue.Do(ctx, func(ctx context.Context) error { // alone
		fmt.Println("writing")
		return catalogue.RLocker().Do(ctx, read) // who writes may read
	})
	fmt.Println(err)
	// Output:
	// reading
	// <nil>
	// writing
	// reading
	// <nil>
}

func ExampleRWMutex_RLocker_downgrade() {
	ctx, locks := openExample()
	defer locks.Close()
	catalogue := locks.RWMutex("catalogue")

	writing, err := catalogue.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	// The read is to outlast the write; the context of the write ends with the write.
	reading, err := catalogue.RLocker().Lock(context.WithoutCancel(writing.Context()))
	if err != nil {
		log.Fatal(err)
	}
	defer reading.Unlock(ctx)
	writing.Unlock(ctx) // other readers come in now, but no writer has been there since

	_, err = catalogue.Lock(reading.Context()) // it would wait for itself
	fmt.Println(errors.Is(err, lockwheel.ErrUpgrade))
	// Output: true
}

func ExampleObserver() {
	ctx, locks := openExample(lockwheel.Options{
		Observer: lockwheel.Observer{
			Acquired: func(name string, waited time.Duration) { fmt.Println("acquired", name) },
			Rejected: func(name string, waited time.Duration, err error) { fmt.Println("refused", name) },
			Released: func(name string, held time.Duration) { fmt.Println("released", name) },
			Lost:     func(name string, err error) { fmt.Println("lost", name) },
		},
	})
	defer locks.Close()

	hold, _ := locks.Mutex("orders/7").Lock(ctx)
	locks.Mutex("orders/7").TryLock(ctx)
	hold.Unlock(ctx)
	// Output:
	// acquired orders/7
	// refused orders/7
	// released orders/7
}

func ExampleEngine_Stats() {
	ctx, locks := openExample()
	defer locks.Close()
	hold, _ := locks.Mutex("orders/7").Lock(ctx)
	defer hold.Unlock(ctx)

	now := locks.Stats()
	fmt.Println(now.Held, "held,", now.Waiting, "waiting,", now.Lost, "lost, renewals late by", now.RenewalLag)
	// Output: 1 held, 0 waiting, 0 lost, renewals late by 0s
}

func ExampleEngine_Stats_quantile() {
	ctx, locks := openExample()
	defer locks.Close()
	hold, _ := locks.Mutex("orders/7").Lock(ctx)
	defer hold.Unlock(ctx)

	now := locks.Stats()
	log.Print("99 of 100 lock requests since Open waited at most ", now.AcquireWaits.Quantile(0.99))
	// Output:
}

func ExampleEngine_Multi() {
	ctx, locks := openExample()
	defer locks.Close()

	from, to := locks.Mutex("account/7"), locks.Mutex("account/9")
	err := locks.Multi(from, to).Do(ctx, func(ctx context.Context) error {
		fmt.Println("moving the money") // no other caller has either of them
		return ctx.Err()                // it ends as soon as one of them is lost
	})
	fmt.Println(err)
	// Output:
	// moving the money
	// <nil>
}

// Each lock of a Multi has a token of its own.
func ExampleEngine_Multi_fenced() {
	ctx, locks := openExample()
	defer locks.Close()

	hold, err := locks.Multi(locks.FencedMutex("inv"), locks.Mutex("orders")).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	inv, err := locks.FencedMutex("inv").Lock(hold.Context())
	if err != nil {
		log.Fatal(err)
	}
	defer inv.Unlock(ctx)
	fmt.Println(hold.Token(), inv.Token())
	// Output: 0 1
}

func ExampleQuorum() {
	ctx, one := openExample()
	defer one.Close()
	_, two := openExample()
	defer two.Close()
	_, three := openExample()
	defer three.Close()

	// Each engine is on a server that shares nothing with the others.
	leader := lockwheel.Quorum(one.Mutex("leader"), two.Mutex("leader"), three.Mutex("leader"))
	hold, err := leader.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	fmt.Println("leading:", hold.Err() == nil, time.Now().Before(hold.Deadline()))
	// Output: leading: true true
}

// A process starts while one of three servers is down.
func ExampleQuorum_absent() {
	ctx, one := openExample()
	defer one.Close()
	_, two := openExample()
	defer two.Close()
	url := "redis://127.0.0.1:1" // where nothing listens

	three, err := lockwheel.Dial(ctx, url)
	if err != nil {
		three = new(lockwheel.Engine) // a server that is not there
	}
	hold, err := lockwheel.Quorum(one.Mutex("leader"), two.Mutex("leader"), three.Mutex("leader")).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	fmt.Println("leading:", hold.Err() == nil)
	// Output: leading: true
}

// A quorum is taken away lock by lock.
func ExampleMutex_ForceUnlock_quorum() {
	ctx, one := openExample()
	defer one.Close()
	_, two := openExample()
	defer two.Close()
	_, three := openExample()
	defer three.Close()
	hold, _ := lockwheel.Quorum(one.Mutex("leader"), two.Mutex("leader"), three.Mutex("leader")).Lock(ctx, lockwheel.Lease(time.Minute))
	defer hold.Unlock(ctx)

	for _, lock := range []lockwheel.Mutex{one.Mutex("leader"), two.Mutex("leader"), three.Mutex("leader")} {
		if _, err := lock.ForceUnlock(ctx); err != nil {
			log.Fatal(err)
		}
	}
	<-hold.Done()
	fmt.Println("lost:", errors.Is(hold.Err(), lockwheel.ErrLost))
	// Output: lost: true
}

func ExampleEngine_Shutdown() {
	ctx, locks := openExample()
	defer locks.Close()
	hold, _ := locks.Mutex("orders/7").Lock(ctx)
	go func() {
		time.Sleep(10 * time.Millisecond)
		hold.Unlock(ctx)
	}()

	grace, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	fmt.Println(locks.Shutdown(grace)) // nil: every hold was unlocked
	_, err := locks.Mutex("orders/8").Lock(ctx)
	fmt.Println(err)
	// Output:
	// <nil>
	// lockwheel: lock "orders/8": engine closed
}

// work stands for a program that stops when its context ends.
func work(ctx context.Context, locks *lockwheel.Engine) {
	hold, err := locks.Mutex("jobs").Lock(ctx)
	if err != nil {
		return
	}
	defer hold.Unlock(context.WithoutCancel(ctx))
	<-ctx.Done()
}

// Compiled, but not run: it waits for a signal.
func ExampleEngine_Shutdown_signal() {
	_, example := openExample()
	locks := example.Engine

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work(ctx, locks) // returns when ctx ends, and unlocks what it holds

	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := locks.Shutdown(grace); err != nil {
		log.Print(err) // how many holds were not unlocked, and some of them
	}
}

func ExampleServerError() {
	ctx, locks := openExample()
	defer locks.Close()
	client, err := rueidis.NewClient(locks.server.ClientOption())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	client.Do(ctx, client.B().Lpush().Key("basket").Element("apples").Build())

	func() {
		_, err := locks.Mutex("basket").Lock(ctx) // a key that is no lock
		var refused lockwheel.ServerError
		if errors.As(err, &refused) {
			fmt.Println(refused)
		}
	}()
	// Output: WRONGTYPE Operation against a key holding the wrong kind of value; it is a list
}

// In tests of a program that locks.
func Example_miniredis() {
	ctx := context.Background()

	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	locks, err := lockwheel.Dial(ctx, "redis://"+server.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	for _, lock := range []lockwheel.Mutex{
		locks.Mutex("plain"), locks.FairMutex("fair"), locks.FencedMutex("fenced"),
		locks.RWMutex("catalogue").RLocker(), locks.RWMutex("ledger").Writer(),
	} {
		hold, err := lock.Lock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(lock.Name(), hold.Unlock(ctx))
	}
	// Output:
	// plain <nil>
	// fair <nil>
	// fenced <nil>
	// catalogue <nil>
	// ledger <nil>
}

// Every snippet of Go in README and docs/ is part of an example, or of a test beside the page. The example is here or
// in a package beside it. Every snippet of Java is part of a class that is built for the tests with Redisson.
func TestDocuments_Snippets_AreExamples(t *testing.T) {
	examples := flush(locktest.Contents(t, "example_test.go"))
	for _, file := range slices.Concat(glob(t, "*/example*_test.go"), glob(t, "*/*/example*_test.go"), glob(t, "docs/*/*_test.go")) {
		examples += flush(locktest.Contents(t, file))
	}
	java := flush(locktest.Contents(t, "interop/java/src/main/java/lockwheel/interop/Snippets.java"))
	for _, document := range documents(t) {
		for _, snippet := range regexp.MustCompile("(?s)```(go|java)\n(.*?)```").FindAllStringSubmatch(locktest.Contents(t, document), -1) {
			if strings.HasPrefix(flush(snippet[2]), "package main\n") {
				continue // a whole program: the next test builds it
			}
			in := map[string]string{"go": examples, "java": java}[snippet[1]]
			assert.True(t, strings.Contains(in, flush(snippet[2])), "%s: no example has this:\n%s", document, snippet[2])
		}
	}
}

// Each snippet that is a whole program can be built.
func TestDocuments_Programs_AreBuilt(t *testing.T) {
	programs := 0
	for _, document := range documents(t) {
		for _, snippet := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(locktest.Contents(t, document), -1) {
			if source := flush(snippet[1]); strings.HasPrefix(source, "package main\n") {
				file := filepath.Join(t.TempDir(), "main.go")
				require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
				out, err := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, file).CombinedOutput()
				require.NoError(t, err, "%s: %s", document, out)
				programs++
			}
		}
	}
	require.Positive(t, programs)
}

// documents returns README and the files in docs/ and its folders.
func documents(t *testing.T) []string {
	t.Helper()
	return slices.Concat(glob(t, "docs/*.md"), glob(t, "docs/*/*.md"), []string{"README.md"})
}

// glob returns the files that match a pattern; there are some.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, pattern)
	return files
}

// The tests, benchmarks, files and sections that the documents name exist.
func TestDocuments_NamedThings_Exist(t *testing.T) {
	var tests strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, "_test.go") {
			tests.WriteString(locktest.Contents(t, path))
		}
		return err
	}))
	for _, document := range append(documents(t), "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "interop/README.md", "bench/RESULTS.md") {
		for _, name := range testsNamedIn(locktest.Contents(t, document)) {
			assert.Contains(t, tests.String(), "\nfunc "+name, "%s names %s, which is not there", document, name)
		}
		for _, link := range regexp.MustCompile(`\]\(([\w./-]*)(?:#([\w-]+))?\)`).FindAllStringSubmatch(locktest.Contents(t, document), -1) {
			to := document
			if link[1] != "" {
				to = filepath.Join(filepath.Dir(document), link[1])
			}
			_, err := os.Stat(to)
			if assert.NoError(t, err, document) && link[2] != "" {
				assert.Contains(t, anchors(locktest.Contents(t, to)), link[2], "%s has a link to that in %s", document, to)
			}
		}
	}
}

// testsNamedIn returns the beginnings of function names in a document, for benchmarks also those that are an
// argument.
func testsNamedIn(document string) (names []string) {
	for _, name := range regexp.MustCompile(`\b(Test|Fuzz|Benchmark)[A-Z]\w+`).FindAllString(document, -1) {
		names = append(names, name+"(")
	}
	for _, match := range regexp.MustCompile(`-bench[ =]'?\^?([A-Z]\w+)(\$?)`).FindAllStringSubmatch(document, -1) {
		if name := strings.TrimPrefix(match[1], "Benchmark"); match[2] == "" {
			names = append(names, "Benchmark"+name)
		} else {
			names = append(names, "Benchmark"+name+"(")
		}
	}
	return names
}

// anchors returns the headings of a document in the form that links use.
func anchors(document string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(document, -1) {
		anchor := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(anchor, " ", "-"))
	}
	return all
}

// flush returns a text without its indentation.
func flush(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}
