package engine

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Go gives a call of one byte more the room of 288, and each caller who waits has one.
func TestACallTakesNoMoreRoomThanItsSizeClassHas(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Call{}), uintptr(256))
}
