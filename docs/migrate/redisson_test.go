package migrate

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

func settleAfterRedisson(ctx context.Context, locks *lockwheel.Engine, account string) (settled bool, err error) {
	err = locks.Mutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
	if errors.Is(err, lockwheel.ErrNotAcquired) && ctx.Err() == nil {
		return false, nil // another program settles it
	}
	return err == nil, err
}

// The Go program of redisson.md settles, and says that it did.
func TestMigrate_Redisson_Settles(t *testing.T) {
	locks, _, _ := clients(t)
	settled, err := settleAfterRedisson(t.Context(), locks, "7")
	require.NoError(t, err)
	require.True(t, settled)
}
