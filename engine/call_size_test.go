package engine

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A call of one byte more falls into Go's size class of 288 bytes, and each waiting caller has one.
func TestCall_FitsSizeClass(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Call{}), uintptr(256))
}
