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
	assert.True(t, onlyReplicasLeft(all, both, owners))
	assert.False(t, onlyReplicasLeft(all, map[string]nodeReply{"master": from("master", true)}, owners), "a master is left")
	assert.False(t, onlyReplicasLeft(all, both, nil), "no master tells which nodes there are")
	assert.False(t, onlyReplicasLeft(all, both, map[string]bool{"master": true, "other": true}), "the node left is not known")
	demoted := map[string]nodeReply{"master": from("master", true), "other": from("other", false)}
	assert.False(t, onlyReplicasLeft(all, demoted, owners), "the node left may have been promoted")
}
