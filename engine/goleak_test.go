package engine

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lockwheel/lockwheel/internal/leaks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, leaks.OfRueidis()...) }
