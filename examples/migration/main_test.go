package main

import (
	"testing"

	"github.com/lockwheel/lockwheel/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }
