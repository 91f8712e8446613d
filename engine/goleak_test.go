package engine

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, redistest.LeftByRueidis()...) }
