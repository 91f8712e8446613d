package interop

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// illegalMonitorState is the exception for an unlock of a lock that is free or has another holder.
const illegalMonitorState = "IllegalMonitorStateException"

// client is a RedissonClient.
type client struct {
	t       *testing.T
	process *redisson.Process
	name    string
	id      string
}

// do sends a command that must succeed and does not depend on leases. It waits long, because several Java machines
// that have just started are slow.
func (c *client) do(command string, fields redisson.Fields) redisson.Fields {
	c.t.Helper()
	answer := locktest.ReceiveWithin(c.t, time.Minute, c.process.Send(command, fields))
	require.NoError(c.t, answer.Err, command)
	return answer.Fields
}

// owner is one of the client's threads.
func (c *client) owner(name string) *owner { return &owner{c, c.name + " " + name} }

// owner is a thread of Java. In Redisson, threads own locks.
type owner struct {
	*client
	thread string
}

// send has the owner do something with a lock, after its earlier commands.
func (o *owner) send(command string, k kind, name string, more redisson.Fields) <-chan redisson.Answer {
	fields := redisson.Fields{"client": o.name, "owner": o.thread, "kind": k.java, "name": name}
	maps.Copy(fields, more)
	return o.process.Send(command, fields)
}

// succeed has the owner run a command that must succeed soon.
func (o *owner) succeed(command string, k kind, name string, more redisson.Fields) redisson.Fields {
	o.t.Helper()
	answer := receive(o.t, o.send(command, k, name, more))
	require.NoError(o.t, answer.Err, command)
	return answer.Fields
}

// fail has the owner run a command that must end with an exception.
func (o *owner) fail(exception, command string, k kind, name string) {
	o.t.Helper()
	var failure *redisson.JavaError
	require.ErrorAs(o.t, receive(o.t, o.send(command, k, name, nil)).Err, &failure, command)
	require.Equal(o.t, exception, failure.Exception, failure.Message)
}

func (o *owner) lock(k kind, name string)   { o.t.Helper(); o.succeed("lock", k, name, nil) }
func (o *owner) unlock(k kind, name string) { o.t.Helper(); o.succeed("unlock", k, name, nil) }

// lockAsync has the owner wait for a lock without a limit.
func (o *owner) lockAsync(k kind, name string) <-chan redisson.Answer {
	return o.send("lock", k, name, nil)
}

// tryLock reports whether the owner got a lock within wait.
func (o *owner) tryLock(k kind, name string, wait time.Duration) bool {
	o.t.Helper()
	return o.succeed("tryLock", k, name, redisson.Fields{"wait": strconv.FormatInt(wait.Milliseconds(), 10)})["got"] == "true"
}

// force reports whether there was a lock to take away.
func (o *owner) force(k kind, name string) bool {
	o.t.Helper()
	return o.succeed("force", k, name, nil)["was"] == "true"
}

// javaState is the state of a lock as Java reports it.
type javaState struct {
	locked bool
	ttl    time.Duration
	mine   bool // isHeldByCurrentThread
	count  int  // getHoldCount of the thread
}

func (o *owner) state(k kind, name string) javaState {
	o.t.Helper()
	fields := o.succeed("state", k, name, nil)
	ttl, err := strconv.Atoi(fields["ttl"])
	require.NoError(o.t, err)
	count, err := strconv.Atoi(fields["count"])
	require.NoError(o.t, err)
	return javaState{fields["locked"] == "true", time.Duration(ttl) * time.Millisecond, fields["mine"] == "true", count}
}

// id returns the owner's name on the wire.
func (o *owner) id() string {
	o.t.Helper()
	return o.client.id + ":" + o.do("thread", redisson.Fields{"owner": o.thread})["number"]
}
