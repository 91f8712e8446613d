package main

import (
	"os"
	"testing"

	"github.com/lockwheel/lockwheel/internal/leaks"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(envArgs); args != "" {
		serveArgs(args)
		return
	}
	leaks.Main(m)
}
