package leader_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/leaks"
	"github.com/lockwheel/lockwheel/leader"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(envMember); addr != "" {
		if err := member(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaks.Main(m)
}

// envMember makes this test binary a member of an election on the given server until it is killed.
const envMember = "LOCKWHEEL_TEST_MEMBER"

// memberLease is long enough for a busy machine to renew, see locktest.ShortLease.
const memberLease = 3 * time.Second

// member leads when it can. While it leads it prints, every few milliseconds, a time at which its hold had not
// ended, and the id of the hold.
func member(addr string) error {
	ctx := context.Background()
	opts := lockwheel.Options{Lease: memberLease, CallTimeout: memberLease / 3}
	opts.Redis.InitAddress = []string{addr}
	locks, err := lockwheel.Open(ctx, opts)
	for end := time.Now().Add(3 * memberLease); err != nil && time.Now().Before(end); { // a busy machine replies late
		time.Sleep(10 * time.Millisecond)
		locks, err = lockwheel.Open(ctx, opts)
	}
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return leader.Run(ctx, locks.Mutex("n"), func(ctx context.Context, hold *lockwheel.Hold) error {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			// An ended hold never begins again. So if Err is nil now, it was nil when the clock was read.
			if at := time.Now(); hold.Err() == nil {
				fmt.Println(at.UnixNano(), hold.ID())
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}, leader.Options{Pause: 10 * time.Millisecond})
}
