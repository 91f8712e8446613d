package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// users is how many users there are. Each step of the migration changes all of them, in batches of batchSize.
const users, batchSize = 60, 10

var batches = len(steps) * users / batchSize

// step is a change of each user. It returns the fields to write, given those that the user has.
type step struct {
	name   string
	change func(user int, has map[string]string) (map[string]string, error)
}

var steps = []step{
	{"create users", func(user int, _ map[string]string) (map[string]string, error) {
		return map[string]string{"name": fmt.Sprintf("Ada Number%d", user), "balance": strconv.Itoa(user)}, nil
	}},
	{"split names", func(_ int, has map[string]string) (map[string]string, error) {
		first, last, _ := strings.Cut(has["name"], " ")
		return map[string]string{"first": first, "last": last}, nil
	}},
	{"balances in cents", func(_ int, has map[string]string) (map[string]string, error) {
		euros, err := strconv.Atoi(has["balance"])
		return map[string]string{"balance": strconv.Itoa(100 * euros)}, err // wrong if it is done twice
	}},
}

// stepOf returns the step of a batch, counted from 0.
func stepOf(batch int) step { return steps[batch*batchSize/users] }

// store is the data that is migrated: a hash for each user, and the marker.
type store struct{ redis rueidis.Client }

const marker = "example/migration"

func key(user int) string { return fmt.Sprintf("example/user/%d", user) }

// Errors of a member that is not the one to write.
var (
	errOldToken  = errors.New("a newer token has written")
	errOutOfTurn = errors.New("another batch is the next")
)

// write writes users and the marker, or nothing. Its keys are the marker and the users. Its arguments are the token,
// and how many batches are done before and after it. For each user follow the number of texts, then fields with their
// values.
var write = rueidis.NewLuaScript(`
	local last = redis.call('HMGET', KEYS[1], 'token', 'done')
	if tonumber(ARGV[1]) < tonumber(last[1] or '0') then return -1 end
	local done = tonumber(last[2] or '0')
	if ARGV[2] == '' then ARGV[2], ARGV[3] = done, done end
	if tonumber(ARGV[2]) ~= done then return -2 end
	redis.call('HSET', KEYS[1], 'token', ARGV[1], 'done', ARGV[3])
	local at = 4
	for user = 2, #KEYS do
		redis.call('HSET', KEYS[user], unpack(ARGV, at + 1, at + ARGV[at]))
		at = at + ARGV[at] + 1
	end
	return tonumber(ARGV[3])`)

// done returns how many batches are done.
func (s store) done(ctx context.Context) (int, error) {
	n, err := s.redis.Do(ctx, s.redis.B().Hget().Key(marker).Field("done").Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0, nil
	}
	return int(n), err
}

// claim records the token of the member that writes from now on, and returns how many batches are done.
func (s store) claim(ctx context.Context, token uint64) (done int, err error) {
	return s.exec(ctx, token, "", "", nil, nil)
}

// apply applies a batch, counted from 0. After an error that is not one of the two above, the batch may be applied or
// not: claim tells.
func (s store) apply(ctx context.Context, token uint64, batch int) error {
	var reads rueidis.Commands
	first := batch * batchSize % users
	for user := first; user < first+batchSize; user++ {
		reads = append(reads, s.redis.B().Hgetall().Key(key(user)).Build())
	}
	var keys, texts []string
	for i, reply := range s.redis.DoMulti(ctx, reads...) {
		has, err := reply.AsStrMap()
		if err != nil {
			return err
		}
		fields, err := stepOf(batch).change(first+i, has)
		if err != nil {
			return err
		}
		keys, texts = append(keys, key(first+i)), append(texts, strconv.Itoa(2*len(fields)))
		for field, value := range fields {
			texts = append(texts, field, value)
		}
	}
	_, err := s.exec(ctx, token, strconv.Itoa(batch), strconv.Itoa(batch+1), keys, texts)
	return err
}

func (s store) exec(ctx context.Context, token uint64, before, after string, keys, texts []string) (int, error) {
	arguments := append([]string{strconv.FormatUint(token, 10), before, after}, texts...)
	n, err := write.Exec(ctx, s.redis, append([]string{marker}, keys...), arguments).AsInt64()
	switch {
	case err != nil:
		return 0, err
	case n == -1:
		return 0, errOldToken
	case n == -2:
		return 0, errOutOfTurn
	}
	return int(n), nil
}
