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
		return ctx.Err()
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
