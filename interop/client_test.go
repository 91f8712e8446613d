package interop

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redisson"
)

// notYours is the exception for an unlock of a lock that is free or has another holder.
const notYours = "IllegalMonitorStateException"

// client is a RedissonClient.
type client struct {
	t       *testing.T
	process *redisson.Process
	name    string
	id      string
}

// do sends a command that must succeed and does not depend on leases. It waits long, because several Java machines
// that have just started are slow.
func (c *client) do(command string, words redisson.Words) redisson.Words {
	c.t.Helper()
	answer := receiveWithin(c.t, c.process.Send(command, words), time.Minute)
	require.NoError(c.t, answer.Err, command)
	return answer.Words
}

// owner is one of the client's threads.
func (c *client) owner(name string) *owner { return &owner{c, c.name + " " + name} }

// owner is a thread of Java. In Redisson, threads own locks.
type owner struct {
	*client
	thread string
}

// send has the owner do something with a lock, after its earlier commands.
func (o *owner) send(command string, k kind, name string, more redisson.Words) <-chan redisson.Answer {
	words := redisson.Words{"client": o.name, "owner": o.thread, "kind": k.java, "name": name}
	maps.Copy(words, more)
	return o.process.Send(command, words)
}

// succeed has the owner run a command that must succeed soon.
func (o *owner) succeed(command string, k kind, name string, more redisson.Words) redisson.Words {
	o.t.Helper()
	answer := receive(o.t, o.send(command, k, name, more))
	require.NoError(o.t, answer.Err, command)
	return answer.Words
}

// fail has the owner run a command that must end with an exception.
func (o *owner) fail(exception, command string, k kind, name string) {
	o.t.Helper()
	var failure *redisson.Failure
	require.ErrorAs(o.t, receive(o.t, o.send(command, k, name, nil)).Err, &failure, command)
	require.Equal(o.t, exception, failure.Exception, failure.Message)
}

func (o *owner) lock(k kind, name string)   { o.t.Helper(); o.succeed("lock", k, name, nil) }
func (o *owner) unlock(k kind, name string) { o.t.Helper(); o.succeed("unlock", k, name, nil) }

// locking has the owner wait for a lock without a limit.
func (o *owner) locking(k kind, name string) <-chan redisson.Answer {
	return o.send("lock", k, name, nil)
}

// tries reports whether the owner got a lock within wait.
func (o *owner) tries(k kind, name string, wait time.Duration) bool {
	o.t.Helper()
	return o.succeed("tryLock", k, name, redisson.Words{"wait": strconv.FormatInt(wait.Milliseconds(), 10)})["got"] == "true"
}

// force reports whether there was a lock to take away.
func (o *owner) force(k kind, name string) bool {
	o.t.Helper()
	return o.succeed("force", k, name, nil)["was"] == "true"
}

// seen is the state of a lock as Java reports it.
type seen struct {
	locked bool
	ttl    time.Duration
	mine   bool // isHeldByCurrentThread
	count  int  // getHoldCount of the thread
}

func (o *owner) sees(k kind, name string) seen {
	o.t.Helper()
	words := o.succeed("state", k, name, nil)
	ttl, err := strconv.Atoi(words["ttl"])
	require.NoError(o.t, err)
	count, err := strconv.Atoi(words["count"])
	require.NoError(o.t, err)
	return seen{words["locked"] == "true", time.Duration(ttl) * time.Millisecond, words["mine"] == "true", count}
}

// id returns the owner's name on the wire.
func (o *owner) id() string {
	o.t.Helper()
	return o.client.id + ":" + o.do("thread", redisson.Words{"owner": o.thread})["number"]
}
