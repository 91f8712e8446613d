package actor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of a request that has left the queue nothing is known any more, whatever its owner's number is.
func TestWaiters_AnyOwnerLeaves_Forgotten(t *testing.T) {
	stays := &Request{Owner: 5}
	q := requestList{last: stays}
	x := &ext{waiters: waitersByOwner{}}
	x.waiters.add(stays)
	for _, owner := range []uint64{1, 2, 5, ThreadOwner, ThreadOwner | 1, ThreadOwner | QuorumOwner | 1} {
		r := &Request{Owner: owner}
		x.waiters.add(r)
		x.onLeft(r, &q)
		require.Len(t, x.waiters, 1)
		require.Equal(t, []*Request{stays}, x.waiters[5].all())
	}
}
