package adv1

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

func TestBubble_Leak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lockwheeltest.New(t, lockwheeltest.WithOptions(lockwheel.Options{FindLeaks: true}), lockwheeltest.AllowLeftovers())
		func() {
			_, err := s.Engine().Mutex("n").Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
		}()
		for range 5 {
			runtime.GC()
			time.Sleep(time.Second)
		}
		t.Log(s.Engine().Stats().Leaked)
	})
}
