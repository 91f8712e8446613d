package goredis_test

import (
	"context"
	"fmt"
	"log"

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
	ctx := context.Background()

	redisOptions, err := redis.ParseURL("redis://" + server.Addr() + "/0?client_name=orders")
	if err != nil {
		log.Fatal(err)
	}
	values := redis.NewClient(redisOptions)
	defer values.Close()

	where, err := goredis.Options(redisOptions)
	if err != nil {
		log.Fatal(err) // it names the fields that cannot be carried over
	}
	locks, err := lockwheel.Open(ctx, lockwheel.Options{Redis: where})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	err = locks.Mutex("orders/7").Do(ctx, func(ctx context.Context) error {
		return values.Incr(ctx, "paid").Err()
	})
	fmt.Println(values.Get(ctx, "paid").Val(), err)
	// Output: 1 <nil>
}

// A field that the engine cannot heed is an error, which names it.
func ExampleClusterOptions() {
	_, err := goredis.ClusterOptions(&redis.ClusterOptions{
		Addrs:        []string{"10.0.0.1:6379"},
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return nil, nil },
	})
	fmt.Println(err)
	// Output: goredis: redis.ClusterOptions.ClusterSlots: the engine asks the cluster itself for its nodes
}
