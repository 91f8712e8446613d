package scripts_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// wantsHoldKeys lists the scripts that take the key of each hold.
var wantsHoldKeys = map[string]bool{"read_acquire": true, "read_renew": true}

// holdKeyArgs parses "read_acquire a:t1:100s:t2 orphans a:t0" and "read_renew a:t1:1:100s,50s" into KEYS and ARGV;
// "100s,50s/7" is two of seven holds.
func holdKeyArgs(words []string) (locks, keys []string, args []any) {
	main, orphans := words[1:], []string(nil)
	if i := slices.Index(main, "orphans"); i >= 0 {
		main, orphans = main[:i], main[i+1:]
	}
	verb := map[string]any{"read_acquire": "PUBLISH", "read_renew": "NUMSUB"}
	args = append(args, verb[words[0]])
	for _, word := range main {
		part := strings.Split(word+"::", ":")
		lock, id := part[0], part[1]
		locks, keys = append(locks, lock), append(keys, lock)
		if words[0] == "read_acquire" {
			keys = append(keys, scripts.RWHoldKey(lock, id, 1))
			args = append(args, id, milliseconds(part[2]), part[3])
			continue
		}
		given, held, more := strings.Cut(part[3], "/")
		leases := strings.Split(given, ",")
		if args = append(args, id, part[2]); more {
			args = append(args, strconv.Itoa(len(leases))+"/"+held)
		} else {
			args = append(args, len(leases))
		}
		for i, lease := range leases {
			keys = append(keys, scripts.RWHoldKey(lock, id, i+1))
			args = append(args, milliseconds(lease))
		}
	}
	for _, word := range orphans {
		lock, id, _ := strings.Cut(word, ":")
		args = append(args, slices.Index(locks, lock)+1, id)
	}
	return locks, keys, args
}

func milliseconds(lease string) int64 {
	d, err := time.ParseDuration(lease)
	if err != nil {
		return 0
	}
	return d.Milliseconds()
}

func TestHoldKey_NamedAsRedissons(t *testing.T) {
	require.Equal(t, "{a}:"+ours+":rwlock_timeout:1", scripts.RWHoldKey("a", ours, 1))
	require.Equal(t, "a{b}c:"+ours+":rwlock_timeout:12", scripts.RWHoldKey("a{b}c", ours, 12))
}
