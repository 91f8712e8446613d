package wheel_test

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// request has a deadline and carries its timer.
type request struct {
	name    string
	timeout wheel.Timer[*request]
}

func newRequest(name string) *request {
	r := &request{name: name}
	r.timeout.Value = r
	return r
}

// An owner schedules, sleeps until Next, and advances. A real owner reads a monotonic clock where this one adds.
func Example() {
	w, err := wheel.New[*request](5*time.Millisecond, wheel.Config{})
	if err != nil {
		panic(err)
	}
	slow, fast := newRequest("slow"), newRequest("fast")
	_ = w.Schedule(&slow.timeout, 3*time.Second)
	_ = w.Schedule(&fast.timeout, 1002*time.Millisecond)
	answered := newRequest("answered")
	_ = w.Schedule(&answered.timeout, 2*time.Second)
	w.Cancel(&answered.timeout)

	for {
		now, ok := w.Next()
		if !ok {
			break
		}
		w.Advance(now, func(t *wheel.Timer[*request]) {
			fmt.Println(now, t.Value.name, "timed out")
		})
	}
	fmt.Println("answered is", answered.timeout.State())

	// Output:
	// 1.005s fast timed out
	// 3s slow timed out
	// answered is canceled
}

// Pending timers are passed back in the order of their deadlines.
func ExampleWheel_Stop() {
	w, _ := wheel.New[*request](5*time.Millisecond, wheel.Config{})
	later, sooner := newRequest("later"), newRequest("sooner")
	_ = w.Schedule(&later.timeout, time.Hour)
	_ = w.Schedule(&sooner.timeout, time.Second)

	n := w.Stop(func(t *wheel.Timer[*request]) { fmt.Println(t.Value.name, t.State()) })
	fmt.Println(n, "left;", w.Schedule(&later.timeout, time.Hour))

	// Output:
	// sooner canceled
	// later canceled
	// 2 left; wheel: stopped
}
