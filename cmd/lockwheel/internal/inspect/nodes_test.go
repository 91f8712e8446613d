package inspect

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
)

// A silent replica is not waited for. A node that may be a master is: one of which no master knows, and all others
// right after a failover, when the owner of slots calls itself a replica.
func TestCluster_ReplicaSilent_NotWaitedFor(t *testing.T) {
	all := map[string]rueidis.Client{"master": nil, "other": nil, "replica": nil}
	owners := map[string]bool{"master": true, "other": true, "replica": false}
	from := func(addr string, master bool) nodeReply { return nodeReply{addr: addr, master: master} }
	both := map[string]nodeReply{"master": from("master", true), "other": from("other", true)}
	assert.Equal(t, none, silentMasters(all, both, owners, nil))
	assert.Equal(t, some, silentMasters(all, map[string]nodeReply{"master": from("master", true)}, owners, nil), "a master is left")
	fewer := map[string]bool{"master": true, "other": true}
	assert.Equal(t, unknown, silentMasters(all, both, fewer, nil), "the node left is not known")
	assert.Equal(t, none, silentMasters(all, both, fewer, map[string]bool{"replica": true}), "it is a replica that the masters consider down")
	demoted := map[string]nodeReply{"master": from("master", true), "other": from("other", false)}
	assert.Equal(t, some, silentMasters(all, demoted, owners, nil), "the node left may have been promoted")
}
