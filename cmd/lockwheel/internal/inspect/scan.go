package inspect

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/internal/redisurl"
)

// maxKeys is about how many keys one SCAN returns, and so how many commands one exchange has.
const maxKeys = 500

// Scan calls each with every lock of a node for which the name matches the pattern, and stops when each returns an
// error. It returns how many keys the user may not read, which it skips. It reads a few hundred keys at a time and
// keeps no more. The order is the server's. A lock is reported once
// unless the server resizes its table meanwhile; one that comes or goes during the scan may be missing.
func (s *Server) Scan(ctx context.Context, n Node, pattern string, each func(*Lock) error) (denied int, err error) {
	return s.scanType(ctx, n, pattern, "hash", s.recognised, each)
}

// ScanForeign is Scan for strings that are probably the locks of another library, see Lock.LikelyOwner.
func (s *Server) ScanForeign(ctx context.Context, n Node, pattern string, each func(*Lock) error) (denied int, err error) {
	return s.scanType(ctx, n, pattern, "string", s.foreign, func(l *Lock) error {
		if l.LikelyOwner == "" {
			return nil
		}
		return each(l)
	})
}

// reader finds the locks among keys, and counts those that the user may not read.
type reader func(ctx context.Context, at rueidis.Client, keys []string) (locks []Lock, denied int, err error)

func (s *Server) scanType(ctx context.Context, n Node, pattern, kind string, read reader, each func(*Lock) error) (denied int, err error) {
	match := globSpecial.Replace(s.prefix) + pattern
	for cursor := uint64(0); ; {
		replies, err := s.ask(ctx, n.client, n.client.B().Scan().Cursor(cursor).Match(match).Count(maxKeys).Type(kind).Build())
		if err != nil {
			return denied, err
		}
		page, err := replies[0].AsScanEntry()
		if err != nil {
			return denied, redisurl.WithoutSecrets(err, &s.option)
		}
		some, err := s.eachOf(ctx, n, page.Elements, read, each)
		denied += some
		if err != nil {
			return denied, err
		}
		if cursor = page.Cursor; cursor == 0 {
			return denied, nil
		}
	}
}

// recognised is recognise as a reader.
func (s *Server) recognised(ctx context.Context, at rueidis.Client, keys []string) (locks []Lock, denied int, err error) {
	found, err := s.recognise(ctx, at, keys)
	return found.locks, found.denied, err
}

func (s *Server) eachOf(ctx context.Context, n Node, keys []string, read reader, each func(*Lock) error) (denied int, err error) {
	for keys = distinct(keys); len(keys) > 0; {
		some := keys[:min(len(keys), maxKeys)]
		keys = keys[len(some):]
		locks, more, err := read(ctx, n.client, some)
		denied += more
		if err != nil {
			return denied, err
		}
		for i := range locks {
			if err := each(&locks[i]); err != nil {
				return denied, err
			}
		}
	}
	return denied, nil
}

func distinct(keys []string) (once []string) {
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		if !seen[key] {
			seen[key] = true
			once = append(once, key)
		}
	}
	return once
}

// Sample is a part of a node's keys.
type Sample struct {
	Keys   int     // how many were looked at
	Denied int     // how many of these the user may not read
	Locks  []*Lock // those that are locks
	Next   uint64  // where the next sample begins; 0: at the beginning
	Whole  bool    // these were all keys
}

// Sample looks at about the given number of keys of a node, from where an earlier sample ended. At the end of the keys
// it goes on at the beginning, so it looks at fewer only if there are fewer. It counts no key twice. Of the waiters of
// its locks it reads the fair queues.
func (s *Server) Sample(ctx context.Context, n Node, from uint64, keys int) (sample Sample, err error) {
	seen := make(map[string]bool)
	fromStart := from == 0 // the scan began at the beginning, or did so anew
	for cursor := from; ; {
		count := keys - len(seen)
		if fromStart && from != 0 { // the keys from before may come next, so many questions for the few that are left
			count = max(count, keys/10)
		}
		replies, err := s.ask(ctx, n.client, n.client.B().Scan().Cursor(cursor).Count(int64(min(maxKeys, max(count, 1)))).Build())
		if err != nil {
			return sample, err
		}
		page, err := replies[0].AsScanEntry()
		if err != nil {
			return sample, redisurl.WithoutSecrets(err, &s.option)
		}
		var fresh []string
		for _, key := range page.Elements {
			if !seen[key] {
				seen[key] = true
				fresh = append(fresh, key)
			}
		}
		if err := s.sampleOf(ctx, n, fresh, &sample); err != nil {
			return sample, err
		}
		cursor = page.Cursor
		sample.Whole = fromStart && cursor == 0
		if sample.Whole || len(seen) >= keys {
			sample.Keys, sample.Next = len(seen), cursor
			return sample, nil
		}
		fromStart = fromStart || cursor == 0
	}
}

// sampleOf adds the locks among keys of any type.
func (s *Server) sampleOf(ctx context.Context, n Node, keys []string, to *Sample) error {
	var commands []rueidis.Completed
	var ours []string
	for _, key := range keys {
		if strings.HasPrefix(key, s.prefix) {
			ours = append(ours, key)
			commands = append(commands, n.client.B().Type().Key(key).Build())
		}
	}
	replies, err := s.ask(ctx, n.client, commands...)
	if err != nil {
		return err
	}
	var hashes []string
	for i, key := range ours {
		if kind, err := replies[i].ToString(); err == nil && (kind == "hash" || kind == "none") || elsewhere(replies[i]) { // none: free just now
			hashes = append(hashes, key)
		} else if deniesKey(replies[i]) {
			to.Denied++
		} else if err := s.refused(replies[i]); err != nil {
			return err
		}
	}
	before := len(to.Locks)
	denied, err := s.eachOf(ctx, n, hashes, s.recognised, func(l *Lock) error {
		copied := *l
		to.Locks = append(to.Locks, &copied)
		return nil
	})
	to.Denied += denied
	for some := range slices.Chunk(to.Locks[before:], maxKeys) {
		err = errors.Join(err, s.addQueues(ctx, n.client, some))
	}
	return err
}
