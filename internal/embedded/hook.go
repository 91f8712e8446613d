package embedded

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// hook sees each command before miniredis does. Connections share it.
type hook struct {
	redis       *miniredis.Miniredis
	scripts     sync.Map // the texts that SCRIPT LOAD brought, by their SHA-1
	subscribers sync.Map // the connections that have subscribed
}

// before reports whether it has answered the command. The name of the command is in capitals.
func (h *hook) before(c *server.Peer, command string, args ...string) (answered bool) {
	switch command {
	case "SCRIPT":
		return h.script(c, args)
	case "EVALSHA":
		return h.evalsha(c, args)
	case "SUBSCRIBE", "PSUBSCRIBE":
		h.subscribed(c)
	case "PING":
		h.delay(c)
	}
	return false
}

// script answers SCRIPT LOAD. miniredis would parse the text each time. For all scripts of the library that takes 20 ms
// whenever an engine is opened. Scripts that are executed are parsed once a process.
func (h *hook) script(c *server.Peer, args []string) (answered bool) {
	switch {
	case len(args) == 2 && strings.EqualFold(args[0], "LOAD"):
		sum := sha1.Sum([]byte(args[1]))
		sha := hex.EncodeToString(sum[:])
		h.scripts.Store(sha, args[1])
		c.WriteBulk(sha)
		return true
	case len(args) > 0 && strings.EqualFold(args[0], "FLUSH"):
		h.scripts.Clear()
	}
	return false
}

// evalsha executes a script that script has kept.
func (h *hook) evalsha(c *server.Peer, args []string) (answered bool) {
	if len(args) == 0 {
		return false
	}
	text, known := h.scripts.Load(args[0])
	if known {
		h.redis.Server().Dispatch(c, append([]string{"EVAL", text.(string)}, args[1:]...))
	}
	return known
}

// subscribed remembers a connection for as long as it lives.
func (h *hook) subscribed(c *server.Peer) {
	if _, known := h.subscribers.LoadOrStore(c, true); !known {
		c.OnDisconnect(func() { h.subscribers.Delete(c) })
	}
}

// delay delays the reply to PING of a connection with subscriptions a little. In miniredis a message that was published
// before can come behind the reply, which in Redis it cannot. A client that uses PING to flush its messages would lose
// it.
func (h *hook) delay(c *server.Peer) {
	if _, subscribes := h.subscribers.Load(c); subscribes {
		time.Sleep(5 * time.Millisecond)
	}
}
