package demo

import (
	"fmt"

	"github.com/lockwheel/lockwheel/internal/embedded"
)

// embed starts a server inside this process.
func embed() (server, error) {
	s, err := embedded.Start()
	if err != nil {
		return server{}, fmt.Errorf("starting the embedded server: %w", err)
	}
	return server{option: s.ClientOption(), embedded: true, close: s.Close}, nil
}
