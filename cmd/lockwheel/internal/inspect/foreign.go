package inspect

import (
	"context"
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/redis/rueidis"
)

// A string at a lock's key may be the lock of another library. Which one, its key and its value suggest.

// tokenBytes is how many random bytes redislock and redsync write, each in a base64 of its own.
const tokenBytes = 16

// maxToken is how much of a string is read: enough for each token, and little of a string that is anything else.
const maxToken = 64

// redislockToken is the length of a token of redislock, which metadata of the program may follow.
var redislockToken = base64.RawURLEncoding.EncodedLen(tokenBytes)

// rueidislockKey matches a key of rueidislock, unless the program has set another prefix. The value has any bytes.
var rueidislockKey = regexp.MustCompile(`^rueidislock:\d+:`)

// likelyOwner returns the library to which a string probably belongs; "" if it looks like the lock of none.
func likelyOwner(key, value string) string {
	decodes := func(e *base64.Encoding, text string) bool {
		token, err := e.Strict().DecodeString(text)
		return err == nil && len(token) == tokenBytes
	}
	switch {
	case rueidislockKey.MatchString(key):
		return "rueidislock"
	case decodes(base64.StdEncoding, value):
		return "redsync"
	case len(value) >= redislockToken && decodes(base64.RawURLEncoding, value[:redislockToken]):
		return "redislock"
	}
	return ""
}

// foreign reads the TTLs and the likely owners of strings. Keys that are no strings any more are left out. If the user
// may not read a value, the owner is unknown; keys that the user may not read at all are counted.
func (s *Server) foreign(ctx context.Context, at rueidis.Client, keys []string) (found []Lock, denied int, err error) {
	var commands []rueidis.Completed
	for _, key := range keys {
		commands = append(commands, at.B().Pttl().Key(key).Build(), at.B().Getrange().Key(key).Start(0).End(maxToken-1).Build())
	}
	replies, err := s.ask(ctx, at, commands...)
	if err != nil {
		return nil, 0, err
	}
	var others []string
	for i, key := range keys {
		if deniesKey(replies[2*i]) {
			denied++
			continue
		}
		if elsewhere(replies[2*i]) {
			others = append(others, key)
			continue
		}
		ttl, err := replies[2*i].AsInt64()
		if err != nil {
			if err := s.refused(replies[2*i]); err != nil {
				return nil, 0, err
			}
			continue
		}
		value, err := replies[2*i+1].ToString()
		if server, ok := rueidis.IsRedisErr(err); ttl == -2 || ok && strings.HasPrefix(server.Error(), "WRONGTYPE") {
			continue
		}
		l := Lock{Name: strings.TrimPrefix(key, s.prefix), Key: key, Kind: NoLock, Type: "string", TTL: ttl, LikelyOwner: likelyOwner(key, value)}
		l.exact()
		found = append(found, l)
	}
	if len(others) > 0 && at != s.client {
		more, alsoDenied, err := s.foreign(ctx, s.client, others)
		return append(found, more...), denied + alsoDenied, err
	}
	return found, denied, nil
}
