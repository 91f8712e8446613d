package inspect

import (
	"context"
	"slices"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/redisurl"
)

// Engine is the record of an engine: what it says about itself.
type Engine struct {
	ID      string `json:"id"`
	Prefix  string `json:"prefix,omitempty"` // of its names
	Name    string `json:"name"`
	Program string `json:"program"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Started string `json:"started"` // by the clock of its host
	Page    string `json:"page,omitempty"`
	Renewed int64  `json:"renewed_ms_ago"` // how long ago the record was written, by the server's clock; -1: not known
}

const (
	// maxQuestions is the maximum number of holders of a lock that are asked since when they have it.
	maxQuestions = 8
	// answerTimeout is how long they have for an answer.
	answerTimeout = time.Second
)

// Engines calls each with every record on a node, of the prefix, or of any prefix if that is empty. It returns how many
// records the user may not read. It reads a few hundred keys at a time and keeps no more.
func (s *Server) Engines(ctx context.Context, n Node, each func(*Engine) error) (denied int, err error) {
	for cursor := uint64(0); ; {
		scan := n.client.B().Scan().Cursor(cursor).Match(globSpecial.Replace(s.prefix) + identity.Keys()).Count(maxKeys).Type("hash").Build()
		replies, err := s.ask(ctx, n.client, scan)
		if err != nil {
			return denied, err
		}
		page, err := replies[0].AsScanEntry()
		if err != nil {
			return denied, redisurl.WithoutSecrets(err, &s.option)
		}
		for keys := distinct(page.Elements); len(keys) > 0; {
			some := keys[:min(len(keys), maxKeys)]
			keys = keys[len(some):]
			engines, more, err := s.records(ctx, n.client, some, nil)
			denied += more
			if err != nil {
				return denied, err
			}
			for i := range engines {
				if err := each(&engines[i]); err != nil {
					return denied, err
				}
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return denied, nil
		}
	}
}

// records reads the records at some keys, and leaves out what is none. If unread is not nil, it gets the errors of
// those that the server rejects to read, for whatever reason, by the ids of their engines.
func (s *Server) records(ctx context.Context, at rueidis.Client, keys []string, unread map[string]error) (engines []Engine, denied int, err error) {
	keys, others, err := s.short(ctx, at, keys, unread)
	if err != nil {
		return nil, 0, err
	}
	if len(others) > 0 && at != s.client {
		if engines, denied, err = s.records(ctx, s.client, others, unread); err != nil {
			return nil, denied, err
		}
	}
	var commands []rueidis.Completed
	var ids, prefixes []string
	for _, key := range keys {
		prefix, id, ok := identity.SplitKey(key)
		if ok {
			ids, prefixes = append(ids, id), append(prefixes, prefix)
			commands = append(commands, at.B().Hmget().Key(key).Field(identity.Names...).Build(), at.B().Pttl().Key(key).Build())
		}
	}
	replies, err := s.ask(ctx, at, commands...)
	if err != nil {
		return nil, denied, err
	}
	for i := range ids {
		switch err := s.refused(replies[2*i]); {
		case err != nil && unread != nil:
			unread[ids[i]] = err
			continue
		case deniesKey(replies[2*i]):
			denied++
			continue
		case err != nil:
			return nil, denied, err
		}
		values, _ := replies[2*i].AsStrSlice()
		r, ttl, ok := identity.Parse(ids[i], values)
		if !ok {
			continue
		}
		e := engineOf(&r)
		e.Prefix = prefixes[i]
		if left, err := replies[2*i+1].AsInt64(); err == nil && left >= 0 && ttl > 0 {
			e.Renewed = max(ttl.Milliseconds()-left, 0)
		}
		engines = append(engines, e)
	}
	return engines, denied, nil
}

// short returns the keys of the records, of the prefix if there is one, that are short enough to be read. Those that
// the user may not read are among them. Others are elsewhere.
func (s *Server) short(ctx context.Context, at rueidis.Client, keys []string, unread map[string]error) (left, others []string, err error) {
	var commands []rueidis.Completed
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		prefix, _, ok := identity.SplitKey(key)
		return !ok || s.prefix != "" && s.prefix != prefix
	})
	for _, key := range keys {
		commands = append(commands, identity.Lengths(at, key)...)
	}
	replies, err := s.ask(ctx, at, commands...)
	for _, key := range keys {
		if err != nil {
			return nil, nil, err
		}
		lengths := replies[:len(identity.Names)]
		replies = replies[len(lengths):]
		if denied := deniesKey(lengths[0]); denied || identity.Short(lengths) {
			left = append(left, key)
		} else if elsewhere(lengths[0]) {
			others = append(others, key)
		} else if refused := s.refused(lengths[0]); refused != nil && unread != nil {
			_, id, _ := identity.SplitKey(key)
			unread[id] = refused
		} else {
			err = refused
		}
	}
	return left, others, err
}

func engineOf(r *identity.Record) Engine {
	e := Engine{ID: r.ID, Name: r.Name, Program: r.Program, Host: r.Host, PID: r.PID, Version: r.Version, Page: r.Page, Renewed: -1}
	if !r.Started.IsZero() {
		e.Started = r.Started.UTC().Format(time.RFC3339)
	}
	return e
}

// Identify adds to the holders of a lock what is known of their engines, or why a record could not be read. An engine
// without a record is not asked, nor are those after maxQuestions. It returns an error if a server does not reply. In a
// cluster that may be another one than the lock's, which is known all the same.
func (s *Server) Identify(ctx context.Context, l *Lock) error {
	byID := make(map[string]*Engine)
	var keys []string
	for _, h := range l.Holders {
		if id, _, ok := identity.EngineOf(h.ID); ok && byID[id] == nil {
			byID[id] = &Engine{}
			keys = append(keys, identity.Key(s.prefix, id))
		}
	}
	unread := make(map[string]error)
	engines, _, failed := s.records(ctx, s.client, keys, unread)
	for i := range engines {
		*byID[engines[i].ID] = engines[i]
	}
	if failed == nil {
		engines, failed = s.prefixed(ctx, l.Key, byID)
		for i := range engines {
			*byID[engines[i].ID] = engines[i]
			delete(unread, engines[i].ID)
		}
	}
	asked := 0
	var asking sync.WaitGroup
	for i := range l.Holders {
		h := &l.Holders[i]
		id, tenure, _ := identity.EngineOf(h.ID)
		if unread[id] != nil {
			h.EngineError = unread[id].Error()
		}
		if e := byID[id]; e == nil || e.ID == "" {
			if e != nil && failed != nil && h.EngineError == "" {
				h.EngineError = failed.Error()
			}
			continue
		}
		h.Engine = byID[id]
		if asked++; asked <= maxQuestions {
			asking.Go(func() { s.askSince(ctx, h, tenure, l.Key) })
		} else {
			h.NotAsked = true
		}
	}
	asking.Wait()
	return failed
}

// maxPrefix is the length of the longest prefix that is looked for in the key of a lock.
const maxPrefix = 64

// prefixesOf returns what may be the prefix in a key: what ends with neither a letter nor a digit. More questions would
// fill the log of what a server forbids (ACL LOG), if the user may not ask most of them.
func prefixesOf(key string) (all []string) {
	for end := 1; end <= min(len(key), maxPrefix); end++ {
		last := rune(key[end-1])
		if last < utf8.RuneSelf && !unicode.IsLetter(last) && !unicode.IsDigit(last) {
			all = append(all, key[:end])
		}
	}
	return all
}

// prefixed returns the records of the engines that have none yet, if they have a prefix with which the lock's key
// begins: a name that was copied from a list of all locks contains the prefix of its engine. With a prefix of the
// options there is no other one.
func (s *Server) prefixed(ctx context.Context, key string, byID map[string]*Engine) ([]Engine, error) {
	if s.prefix != "" {
		return nil, nil
	}
	var unknown []string
	for id, e := range byID {
		if e.ID == "" {
			unknown = append(unknown, id)
		}
	}
	var commands []rueidis.Completed
	var prefixes []string
	for _, id := range unknown[:min(len(unknown), maxQuestions)] {
		for _, prefix := range prefixesOf(key) {
			prefixes = append(prefixes, prefix)
			commands = append(commands, s.client.B().Exists().Key(identity.Key(prefix, id)).Build())
		}
	}
	replies, err := s.ask(ctx, s.client, commands...)
	if err != nil {
		return nil, err
	}
	var keys []string
	for i, reply := range replies {
		if n, err := reply.AsInt64(); err == nil && n > 0 { // a key that may not be read is none
			for _, id := range unknown {
				keys = append(keys, identity.Key(prefixes[i], id))
			}
		}
	}
	engines, _, err := s.records(ctx, s.client, distinct(keys), make(map[string]error))
	return engines, err
}

func (s *Server) askSince(ctx context.Context, h *Holder, tenure uint64, key string) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a, known, err := identity.Ask(ctx, s.client, h.Engine.Prefix, h.Engine.ID, tenure, key)
	switch {
	case err != nil:
		h.SinceError = oneLine(connectionError(err, answerTimeout, &s.option))
	case known && a.Held:
		h.Since = time.Now().Add(-a.Age).UTC().Format(time.RFC3339Nano)
	case known:
		h.NotHeld = true
	}
}
