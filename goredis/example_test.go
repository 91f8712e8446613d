package goredis_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/goredis"
	"github.com/lockwheel/lockwheel/internal/embedded"
)

// A program that keeps its data with go-redis locks on the same server.
func ExampleOptions() {
	server, err := embedded.Start() // for this example; a program has its own
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	os.Setenv("REDIS_URL", "redis://"+server.Addr()+"/0?client_name=orders")
	ctx := context.Background()

	err = func() error {
		redisOptions, err := redis.ParseURL(os.Getenv("REDIS_URL"))
		if err != nil {
			return err
		}
		values := redis.NewClient(redisOptions) // as before

		where, err := goredis.Options(redisOptions)
		if err != nil {
			return err
		}
		locks, err := lockwheel.Open(ctx, lockwheel.Options{Redis: where})
		if err != nil {
			return err
		}
		defer values.Close()
		defer locks.Close()
		return locks.Mutex("orders/7").Do(ctx, func(ctx context.Context) error {
			fmt.Println(values.Incr(ctx, "paid").Val())
			return nil
		})
	}()
	fmt.Println(err)
	// Output:
	// 1
	// <nil>
}

// admitAll is a Limiter of go-redis that admits every command.
type admitAll struct{}

func (admitAll) Allow() error       { return nil }
func (admitAll) ReportResult(error) {}

// A field that cannot be carried over is an error, which names it. The locks may do without it.
func ExampleOptions_rejected() {
	redisOptions := &redis.Options{Addr: "10.0.0.1:6379", Limiter: admitAll{}}
	_, err := goredis.Options(redisOptions)
	fmt.Println(err)

	forLocks := *redisOptions
	forLocks.Limiter = nil
	where, err := goredis.Options(&forLocks)
	fmt.Println(where.InitAddress, err)
	// Output:
	// goredis: redis.Options.Limiter: the engine does not call it
	// [10.0.0.1:6379] <nil>
}
