package demo

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lockwheel/lockwheel/debug"
	"github.com/lockwheel/lockwheel/lockwheelprom"
)

const (
	// maxScrapes is how many scrapes are served at a time. Further ones get status 503.
	maxScrapes = 2
	// headerTimeout is how long a client may take to send the header of a request.
	headerTimeout = 5 * time.Second
)

// site serves the page of a demo's engines at /, and their metrics at /metrics. The zero value serves nothing.
type site struct {
	at      net.Listener
	server  *http.Server
	serving sync.WaitGroup
}

// listen takes an address; "" serves nothing. Requests wait until serve.
func (s *site) listen(address string) (err error) {
	if address == "" {
		return nil
	}
	if s.at, err = net.Listen("tcp", address); err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	return nil
}

// url returns the address of the page, or "".
func (s *site) url() string {
	if s.at == nil {
		return ""
	}
	return fmt.Sprintf("http://%s/", s.at.Addr())
}

// serve answers requests until close.
func (s *site) serve(at engines) {
	if s.at == nil {
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(lockwheelprom.NewCollector(at.main, "main"), lockwheelprom.NewCollector(at.second, "second"))
	mux := http.NewServeMux()
	mux.Handle("/", debug.Handler(debug.Options{}, at.main, at.second))
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes}))
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	s.serving.Go(func() { _ = s.server.Serve(s.at) })
}

// close ends all connections and waits until nothing is served any more.
func (s *site) close() {
	switch {
	case s.server != nil:
		_ = s.server.Close()
	case s.at != nil:
		_ = s.at.Close()
	}
	s.serving.Wait()
}
