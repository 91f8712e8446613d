package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/internal/redisurl"
	"github.com/lockwheel/lockwheel/scripts"
)

// maxHolders is about how many fields of a hash are read. A read/write lock may have many readers.
const maxHolders = 64

// rwChannel names the channel of a read/write lock, for scripts.RedissonKey.
const rwChannel = "redisson_rwlock"

// Read reads one lock with all that the server knows of it, see ReadFrom.
func (s *Server) Read(ctx context.Context, name string) (*Lock, error) {
	nodes, silent := s.Nodes(ctx)
	return s.ReadFrom(ctx, name, nodes, silent)
}

// ReadFrom is Read with what Nodes returned. A node that does not tell who listens is no error, whether Nodes or
// ReadFrom found it: it is named in Waiting.Error. If the fair queue cannot be read, ReadFrom returns the rest with the
// error.
func (s *Server) ReadFrom(ctx context.Context, name string, nodes []Node, silent error) (*Lock, error) {
	l, err := s.Find(ctx, name)
	if err != nil || l.Kind == NoLock {
		return l, err
	}
	failed := s.addQueues(ctx, s.client, []*Lock{l})
	l.Waiting.fail(errors.Join(failed, silent, s.addListeners(ctx, nodes, []*Lock{l})))
	return l, failed
}

// ReadQueue is Read without the clients that listen.
func (s *Server) ReadQueue(ctx context.Context, name string) (*Lock, error) {
	l, err := s.Find(ctx, name)
	if err != nil || l.Kind == NoLock {
		return l, err
	}
	return l, s.addQueues(ctx, s.client, []*Lock{l})
}

// Find reads one lock without its waiters.
func (s *Server) Find(ctx context.Context, name string) (*Lock, error) {
	key := s.prefix + name
	l := &Lock{Name: name, Key: key, Kind: Free}
	l.exact()
	b := s.client.B()
	replies, err := s.ask(ctx, s.client, b.Type().Key(key).Build(), b.Get().Key(scripts.RedissonKey(scripts.TokenKey, key)).Build())
	if err != nil {
		return nil, err
	}
	if l.Type, err = replies[0].ToString(); err != nil {
		return nil, redisurl.WithoutSecrets(err, &s.option)
	}
	if err := replies[1].Error(); err != nil && !rueidis.IsRedisNil(err) {
		l.TokenError = redisurl.WithoutSecrets(err, &s.option).Error()
	} else if err == nil {
		l.Token, _ = replies[1].ToString()
	}
	switch l.Type {
	case "none":
		l.Type = ""
	case "hash":
		found, err := s.recognise(ctx, s.client, []string{key})
		switch {
		case err != nil:
			return nil, err
		case len(found.locks) > 0:
			found.locks[0].Token, found.locks[0].TokenError = l.Token, l.TokenError
			*l = found.locks[0]
		case len(found.gone) == 0:
			l.Kind = NoLock
		}
	case "string":
		found, _, err := s.foreign(ctx, s.client, []string{key})
		if err != nil {
			return nil, err
		}
		if l.Kind = NoLock; len(found) > 0 {
			*l = found[0]
		}
	default:
		l.Kind = NoLock
	}
	if l.Kind != NoLock {
		l.Type = ""
	}
	return l, nil
}

// Locked reports whether the key of a lock exists.
func (s *Server) Locked(ctx context.Context, name string) (bool, error) {
	replies, err := s.ask(ctx, s.client, s.client.B().Exists().Key(s.prefix+name).Build())
	if err != nil {
		return false, err
	}
	n, err := replies[0].AsInt64()
	if err != nil {
		return false, redisurl.WithoutSecrets(err, &s.option)
	}
	return n > 0, nil
}

// candidate is a hash that may be a lock.
type candidate struct {
	key  string
	size int64  // number of its fields
	mode string // of a read/write lock
}

// recognised says what became of some keys. Those that it does not name are no locks.
type recognised struct {
	locks     []Lock
	gone      []string // there was no such key when it was asked for
	elsewhere []string // another node has it, see elsewhere
	denied    int      // number of those that the user may not read
}

// maxTries is how often a key is asked for that is gone when the next question is asked. A lock that many want is free
// for a moment again and again, and is one of those that matter most.
const maxTries = 4

// recognise finds the locks among hashes.
func (s *Server) recognise(ctx context.Context, at rueidis.Client, keys []string) (all recognised, err error) {
	for range maxTries {
		if len(keys) == 0 {
			break
		}
		all.gone = nil
		if err := s.recogniseOnce(ctx, at, keys, &all); err != nil {
			return recognised{}, err
		}
		keys = all.gone
	}
	if len(all.elsewhere) > 0 && at != s.client {
		others, err := s.recognise(ctx, s.client, all.elsewhere)
		all.locks, all.denied = append(all.locks, others.locks...), all.denied+others.denied
		return all, err
	}
	return all, nil
}

// recogniseOnce never reads a whole hash that is large, because it may be anything. It reads only sizes first, then the
// one field or the mode, and then the holders.
func (s *Server) recogniseOnce(ctx context.Context, at rueidis.Client, keys []string, to *recognised) error {
	sized, err := s.sizes(ctx, at, keys, to)
	if err != nil {
		return err
	}
	shaped, err := s.shapes(ctx, at, sized, to)
	if err != nil {
		return err
	}
	return s.holders(ctx, at, shaped, to)
}

// sizes drops the hashes that are too small or too large for a lock, and those with another field named mode.
func (s *Server) sizes(ctx context.Context, at rueidis.Client, keys []string, to *recognised) (left []candidate, err error) {
	var commands []rueidis.Completed
	for _, key := range keys {
		commands = append(commands, at.B().Hlen().Key(key).Build(), at.B().Hstrlen().Key(key).Field(mode).Build())
	}
	replies, err := s.ask(ctx, at, commands...)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		if deniesKey(replies[2*i]) {
			to.denied++
			continue
		}
		if elsewhere(replies[2*i]) {
			to.elsewhere = append(to.elsewhere, key)
			continue
		}
		size, failed := replies[2*i].AsInt64()
		length, also := replies[2*i+1].AsInt64()
		if failed != nil || also != nil {
			if err = s.refused(replies[2*i]); err == nil {
				err = s.refused(replies[2*i+1])
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		if size == 0 {
			to.gone = append(to.gone, key)
		}
		plain := size == 1 && length == 0
		rw := size > 1 && (length == int64(len(Read)) || length == int64(len(Write)))
		if plain || rw {
			left = append(left, candidate{key: key, size: size})
		}
	}
	return left, nil
}

// shapes reads the one field of a hash, or its mode, and drops what is not a lock's.
func (s *Server) shapes(ctx context.Context, at rueidis.Client, from []candidate, to *recognised) (left []candidate, err error) {
	var commands []rueidis.Completed
	for _, c := range from {
		if c.size == 1 {
			commands = append(commands, at.B().Hkeys().Key(c.key).Build())
		} else {
			commands = append(commands, at.B().Hget().Key(c.key).Field(mode).Build())
		}
	}
	replies, err := s.ask(ctx, at, commands...)
	if err != nil {
		return nil, err
	}
	for i, c := range from {
		if err := s.refused(replies[i]); err != nil {
			return nil, err
		}
		if c.size == 1 {
			if fields, err := replies[i].AsStrSlice(); err == nil && len(fields) == 0 {
				to.gone = append(to.gone, c.key)
			} else if len(fields) == 1 && holderID.MatchString(fields[0]) {
				left = append(left, c)
			}
			continue
		}
		if c.mode, err = replies[i].ToString(); c.mode == Read || c.mode == Write {
			left = append(left, c)
		} else if rueidis.IsRedisNil(err) {
			to.gone = append(to.gone, c.key)
		}
	}
	return left, nil
}

// holders reads the holders and the TTL of each lock. The holder may be another one than before.
func (s *Server) holders(ctx context.Context, at rueidis.Client, from []candidate, to *recognised) error {
	var commands []rueidis.Completed
	for _, c := range from {
		commands = append(commands, at.B().Hscan().Key(c.key).Cursor(0).Count(maxHolders).Build(), at.B().Pttl().Key(c.key).Build())
	}
	replies, err := s.ask(ctx, at, commands...)
	if err != nil {
		return err
	}
	for i, c := range from {
		found, ttl := replies[2*i], replies[2*i+1]
		if err := s.refused(found); err != nil {
			return err
		}
		l := Lock{Name: strings.TrimPrefix(c.key, s.prefix), Key: c.key, Kind: Exclusive, Number: 1}
		l.exact()
		if l.TTL, err = ttl.AsInt64(); err != nil {
			if err := s.refused(ttl); err != nil {
				return err
			}
			continue
		}
		page, err := found.AsScanEntry()
		switch {
		case l.TTL == -2 || err == nil && len(page.Elements) == 0:
			to.gone = append(to.gone, c.key)
		case err == nil && l.fill(c, page):
			to.locks = append(to.locks, l)
		}
	}
	return nil
}

// fill sets the holders. It reports false if there is something in the hash that is not a holder's.
func (l *Lock) fill(c candidate, page rueidis.ScanEntry) bool {
	if c.mode != "" {
		l.Kind, l.Number = c.mode, c.size-1
	}
	for i := 0; i+1 < len(page.Elements); i += 2 {
		if page.Elements[i] == mode && c.mode != "" {
			continue
		}
		h, ok := holderOf(page.Elements[i], page.Elements[i+1])
		if !ok {
			return false
		}
		if len(l.Holders) < maxHolders {
			l.Holders = append(l.Holders, h)
		}
	}
	return len(l.Holders) == 1 || c.mode != "" && len(l.Holders) > 1
}

// AddListeners asks for the clients that listen to locks, at most maxKeys at a time. The error names nodes that did not
// tell: the number is then that of the others.
func (s *Server) AddListeners(ctx context.Context, nodes []Node, locks []*Lock) error {
	for some := range slices.Chunk(locks, maxKeys) {
		if err := s.addListeners(ctx, nodes, some); err != nil {
			return err
		}
	}
	return nil
}

// addQueues sets the lengths of the fair queues. What it cannot read stays unknown, and so do the clients that listen.
func (s *Server) addQueues(ctx context.Context, at rueidis.Client, locks []*Lock) error {
	var commands []rueidis.Completed
	for _, l := range locks {
		l.Waiting = &Waiting{Clients: -1, Queue: -1}
		commands = append(commands, at.B().Llen().Key(scripts.RedissonKey(scripts.FairQueueKey, l.Key)).Build())
	}
	replies, err := s.ask(ctx, at, commands...)
	if err != nil {
		return fmt.Errorf("the fair queue: %w", err)
	}
	for i, l := range locks {
		length, err := replies[i].AsInt64()
		switch refused := s.refused(replies[i]); {
		case err == nil || refused == nil:
			l.Waiting.Queue = length
		case !deniesKey(replies[i]):
			return fmt.Errorf("the fair queue: %w", refused)
		}
	}
	return nil
}

// HasQueue reports whether a lock has a fair queue, as far as the user may know.
func (s *Server) HasQueue(ctx context.Context, name string) bool {
	l := &Lock{Key: s.prefix + name}
	return s.addQueues(ctx, s.client, []*Lock{l}) == nil && l.Waiting.Queue > 0
}

// addListeners asks every node, because a channel's listeners are known only to the node that they are connected to.
// In a cluster a client may listen to the shard's channel or, of an older server, to an ordinary one. The error names
// the nodes that did not tell. Without any other one the number is not known.
func (s *Server) addListeners(ctx context.Context, nodes []Node, locks []*Lock) (failed error) {
	byChannel := make(map[string]*Lock, 2*len(locks))
	var channels []string
	for _, l := range locks {
		for _, prefix := range []string{scripts.Channel, rwChannel} {
			channel := scripts.RedissonKey(prefix, l.Key)
			channels = append(channels, channel)
			byChannel[channel] = l
		}
		l.Waiting.Clients = 0
		if s.replica { // those of its master are not known here
			l.Waiting.Clients = -1
		}
	}
	told := 0
	for _, n := range nodes {
		commands := []rueidis.Completed{n.client.B().PubsubNumsub().Channel(channels...).Build()}
		if s.Cluster() {
			commands = append(commands, n.client.B().Arbitrary("PUBSUB", "SHARDNUMSUB").Args(channels...).Build())
		}
		replies, err := s.ask(ctx, n.client, commands...)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("the node %s %s, so clients that listen there are missing: %w", n.Addr, verb(err), err))
			continue
		}
		told++
		for i, reply := range replies {
			pairs, err := reply.ToArray()
			if err != nil {
				if i == 0 || Refused(err) { // an old server does not know the second question
					for _, l := range locks {
						l.Waiting.Clients = -1
					}
				}
				continue
			}
			count(pairs, byChannel)
		}
	}
	for _, l := range locks {
		if told == 0 {
			l.Waiting.Clients = -1
		}
	}
	return failed
}

func count(pairs []rueidis.RedisMessage, byChannel map[string]*Lock) {
	for i := 0; i+1 < len(pairs); i += 2 {
		channel, _ := pairs[i].ToString()
		n, err := pairs[i+1].AsInt64()
		if l := byChannel[channel]; l != nil && err == nil && l.Waiting.Clients >= 0 {
			l.Waiting.Clients += n
		}
	}
}

// number reads a number of a text, 0 if there is none.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}
