package leader_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/embedded"
	"github.com/lockwheel/lockwheel/leader"
)

func ExampleRun() {
	server, err := embedded.Start() // a program calls lockwheel.Dial with the URL of its server
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	locks, err := lockwheel.Open(context.Background(), lockwheel.Options{Redis: server.ClientOption()})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	ctx, shutdown := context.WithCancel(context.Background())
	err = leader.Run(ctx, locks.FencedMutex("billing/leader"), func(ctx context.Context, hold *lockwheel.Hold) error {
		fmt.Println("works with token", hold.Token())
		shutdown() // a program calls this on SIGTERM
		<-ctx.Done()
		return context.Cause(ctx)
	}, leader.Options{
		Gained: func(hold *lockwheel.Hold) { fmt.Println("leads", hold.Name()) },
		Ended:  func(error) { fmt.Println("ended") },
	})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// leads billing/leader
	// works with token 1
	// ended
	// true
}

// The callbacks say when this process begins and ends to lead. This example is compiled and not run: it needs a server.
func ExampleRun_callbacks() {
	ctx := context.Background()
	locks, err := lockwheel.Dial(ctx, "redis://127.0.0.1:6379")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	work := func(ctx context.Context, _ *lockwheel.Hold) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}

	err = leader.Run(ctx, locks.FencedMutex("billing/leader"), work, leader.Options{
		Gained: func(hold *lockwheel.Hold) { log.Print("leads") },
		Ended:  func(err error) { log.Print("no longer leads: ", err) },
	})
	if err != nil {
		log.Fatal(err)
	}
}
