package debug_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/debug"
	"github.com/lockwheel/lockwheel/internal/embedded"
)

// Compiled, but not run: it needs a server at that address.
func Example() {
	ctx := context.Background()
	redis, err := lockwheel.ParseURL("redis://127.0.0.1:6379")
	if err != nil {
		log.Fatal(err)
	}

	var recorder debug.Recorder // remembers what happened lately
	locks, err := lockwheel.Open(ctx, lockwheel.Options{Redis: redis, Observer: recorder.Observer()})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	page := debug.Handler(debug.Options{Recorder: &recorder}, locks)
	mux := http.NewServeMux()
	mux.Handle("/debug/locks/", http.StripPrefix("/debug/locks", page))
	go http.ListenAndServe("127.0.0.1:6060", mux) // a port of its own, which is not public
}

func ExampleHandler() {
	ctx := context.Background()
	redis, err := embedded.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer redis.Close()
	locks, err := lockwheel.Open(ctx, lockwheel.Options{Redis: redis.ClientOption()})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	if _, err := locks.Mutex("orders/7").Lock(ctx); err != nil {
		log.Fatal(err)
	}

	page := debug.Handler(debug.Options{AllowForce: true}, locks)
	server := httptest.NewServer(page)
	defer server.Close()
	response, err := http.Get(server.URL + "/locks.json?q=orders")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, strings.Contains(string(text), `"name": "orders/7"`))
	// Output: 200 true
}
