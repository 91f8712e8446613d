package adv2_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestEven(t *testing.T) {
	kinds := map[string]func(e *lockwheel.Engine) lockwheel.Mutex{
		"plain":  func(e *lockwheel.Engine) lockwheel.Mutex { return e.Mutex("n") },
		"fenced": func(e *lockwheel.Engine) lockwheel.Mutex { return e.FencedMutex("n") },
		"fair":   func(e *lockwheel.Engine) lockwheel.Mutex { return e.FairMutex("n") },
		"writer": func(e *lockwheel.Engine) lockwheel.Mutex { return e.RWMutex("n").Writer() },
	}
	for k := range kinds {
		for _, n := range []int{2, 3, 4} {
			for _, per := range []int{1, 2} {
				t.Run(fmt.Sprint(k, n, per), func(t *testing.T) {
					p := locktest.NewServerSet(t, n)
					var qs []lockwheel.Multi
					for range 3 {
						es := p.Client(lockwheel.Options{})
						var ls []lockwheel.Mutex
						for i := range es {
							ls = append(ls, kinds[k](es[i]))
						}
						qs = append(qs, lockwheel.Quorum(ls...))
					}
					g, l := contest(t, 4*time.Second, qs, per)
					t.Log(g, l)
				})
			}
		}
	}
}
