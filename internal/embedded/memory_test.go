package embedded

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

func connectInMemory(t *testing.T) (*MemoryServer, client) {
	s := StartInMemory()
	t.Cleanup(s.Close)
	return s, connectTo(t, s)
}

func connectTo(t *testing.T, s *MemoryServer) client {
	c, err := rueidis.NewClient(s.ClientOption())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return client{c, t}
}

// In a bubble a TTL takes no time, and ends exactly. The bubble ends only if no goroutine is left.
func TestMemoryServer_Bubble_TTLsFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := connectInMemory(t)
		c.eval(`redis.call('hset', 'h', 'f', 1) return redis.call('pexpire', 'h', 60000)`)
		require.True(t, s.Has("h"))
		time.Sleep(time.Minute - time.Millisecond)
		require.Equal(t, "1", c.eval(`return redis.call('pttl', 'h')`))
		require.Equal(t, fmt.Sprint(time.Now().Unix()), c.eval(`return redis.call('time')[1]`))
		time.Sleep(time.Millisecond)
		require.Equal(t, "-2", c.eval(`return redis.call('pttl', 'h')`))
		require.Empty(t, s.Keys())
		require.False(t, s.Has("h"))
	})
}

// A client may send much before it reads a reply.
func TestMemoryServer_ManyCommands_AllAnswered(t *testing.T) {
	_, c := connectInMemory(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var commands []rueidis.Completed
	for range 1000 {
		commands = append(commands, c.B().Echo().Message(strings.Repeat("x", 10_000)).Build())
	}
	for _, r := range c.DoMulti(ctx, commands...) {
		require.NoError(t, r.Error())
	}
}

// A connection with a deadline that has passed takes nothing more: a writer of rueidis ends by that error alone.
func TestMemoryServer_DeadlinePassed_WriteFails(t *testing.T) {
	s := StartInMemory()
	defer s.Close()
	conn, err := s.dial()
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Unix(1, 0)))
	_, err = conn.Write([]byte("PING\r\n"))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, conn.SetDeadline(time.Time{}))
	_, err = conn.Write([]byte("PING\r\n"))
	require.NoError(t, err)
}

func TestMemoryServer_Down_KeepsData(t *testing.T) {
	s, c := connectInMemory(t)
	require.Equal(t, "OK", c.do("SET", "k", "v"))
	s.Down()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.Error(t, c.Do(ctx, c.B().Ping().Build()).Error())
	_, err := s.dial()
	require.ErrorIs(t, err, ErrDown)
	s.Up()
	require.Equal(t, "v", c.do("GET", "k"))
	s.Flush()
	require.Equal(t, "nil", c.do("GET", "k"))
}

func TestMemoryServer_Closed_RefusesConnections(t *testing.T) {
	s, _ := connectInMemory(t)
	s.Close()
	s.Close()
	_, err := s.dial()
	require.ErrorIs(t, err, ErrDown)
}

// A read of a connection ends at its deadline.
func TestMemoryServer_DeadlinePassed_ReadFails(t *testing.T) {
	s := StartInMemory()
	defer s.Close()
	conn, err := s.dial()
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Millisecond)))
	unblock := time.AfterFunc(10*time.Second, func() { conn.Close() })
	defer unblock.Stop()
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// A connection that ends, by the client or by the server, is forgotten. It takes nothing more, and its goroutine ends.
func TestMemoryServer_ConnEnds_NothingLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := StartInMemory()
		defer s.Close()
		closed, err := s.dial()
		require.NoError(t, err)
		require.Len(t, s.conns, 1)
		require.NoError(t, closed.Close())
		require.Empty(t, s.conns)

		quit, err := s.dial()
		require.NoError(t, err)
		go io.Copy(io.Discard, quit)
		for _, command := range []string{"QUIT", "PING"} {
			_, err = quit.Write([]byte("*1\r\n$4\r\n" + command + "\r\n"))
			require.NoError(t, err)
			synctest.Wait()
		}
		_, err = quit.Write([]byte("x"))
		require.ErrorIs(t, err, io.ErrClosedPipe)

		_, err = s.dial() // the server ends it
		require.NoError(t, err)
	})
}
