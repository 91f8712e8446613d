package goredis_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"
	"github.com/redis/go-redis/v9/push"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/goredis"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// kind is a struct of options, as values in which single fields are then set, one for each way it is understood.
type kind struct {
	name  string
	bases []any // pointers to structs
}

// kinds have users and passwords in all fields for them, so that each of these has an effect by itself.
func kinds() []kind {
	universal := func(change func(*redis.UniversalOptions)) any {
		o := &redis.UniversalOptions{
			Addrs:    []string{"127.0.0.1:7001"},
			Username: locktest.MarkedUser, Password: locktest.MarkedPassword,
			SentinelUsername: locktest.MarkedUser, SentinelPassword: locktest.MarkedPassword,
		}
		change(o)
		return o
	}
	failover := redis.FailoverOptions{
		MasterName: "locks", SentinelAddrs: []string{"127.0.0.1:7001"},
		Username: locktest.MarkedUser, Password: locktest.MarkedPassword,
		SentinelUsername: locktest.MarkedUser, SentinelPassword: locktest.MarkedPassword,
	}
	routed := failover
	routed.RouteByLatency = true
	return []kind{
		{"Options", []any{
			&redis.Options{Addr: "127.0.0.1:7001", Username: locktest.MarkedUser, Password: locktest.MarkedPassword},
		}},
		{"ClusterOptions", []any{
			&redis.ClusterOptions{Addrs: []string{"127.0.0.1:7001"}, Username: locktest.MarkedUser, Password: locktest.MarkedPassword},
		}},
		{"FailoverOptions", []any{&failover, &routed}},
		{"UniversalOptions", []any{
			universal(func(*redis.UniversalOptions) {}),
			universal(func(o *redis.UniversalOptions) { o.Addrs = []string{"127.0.0.1:7001", "127.0.0.1:7002"} }),
			universal(func(o *redis.UniversalOptions) { o.MasterName = "locks" }),
			universal(func(o *redis.UniversalOptions) { o.MasterName, o.RouteRandomly = "locks", true }),
			universal(func(o *redis.UniversalOptions) { o.MasterName, o.IsClusterMode = "locks", true }),
		}},
	}
}

func translate(o any) (rueidis.ClientOption, error) {
	switch o := o.(type) {
	case *redis.Options:
		return goredis.Options(o)
	case *redis.ClusterOptions:
		return goredis.ClusterOptions(o)
	case *redis.FailoverOptions:
		return goredis.FailoverOptions(o)
	case *redis.UniversalOptions:
		return goredis.UniversalOptions(o)
	}
	panic("no options of go-redis")
}

// Every exported field of every struct has a row in one of the tables of docs/goredis.md. What the table says of it
// happens when the field is set. No error repeats a value.
func TestFields_Each_DoesWhatItsTableSays(t *testing.T) {
	t.Parallel()
	tables, used := documented(t), map[string]bool{}
	for _, k := range kinds() {
		fields := reflect.TypeOf(k.bases[0]).Elem()
		for i := range fields.NumField() {
			field := fields.Field(i)
			if !field.IsExported() {
				continue
			}
			row := k.name + "." + field.Name
			if tables[row] == "" {
				row = field.Name
			}
			used[row] = true
			t.Run(k.name+"."+field.Name, func(t *testing.T) {
				changed, rejected := 0, 0
				for _, base := range k.bases {
					switch effect(t, base, field) {
					case "rejected":
						rejected++
					case "changed":
						changed++
					}
				}
				switch tables[row] {
				case "Carried over":
					require.NotZero(t, changed, "the result changes")
					require.Zero(t, rejected)
				case "Rejected":
					require.NotZero(t, rejected)
					require.Zero(t, changed, "the result changes only in an error")
				case "Ignored":
					require.Zero(t, changed, "the result changes")
					require.Zero(t, rejected)
				default:
					require.Fail(t, "docs/goredis.md has no row for "+field.Name)
				}
			})
		}
	}
	for row := range tables {
		require.True(t, used[row], "no struct has the field %s of docs/goredis.md", row)
	}
}

// effect sets a field and says what becomes of it: "rejected", "changed" or "same".
func effect(t *testing.T, base any, field reflect.StructField) string {
	t.Helper()
	before, err := translate(base)
	require.NoError(t, err)
	with := reflect.New(reflect.TypeOf(base).Elem())
	with.Elem().Set(reflect.ValueOf(base).Elem())
	with.Elem().FieldByIndex(field.Index).Set(sample(t, field))
	after, err := translate(with.Interface())
	switch {
	case err != nil:
		require.Contains(t, err.Error(), "redis."+with.Elem().Type().Name()+"."+field.Name+": ")
		require.Empty(t, locktest.Leaked(err.Error()))
		require.Zero(t, differs(reflect.ValueOf(after), reflect.ValueOf(rueidis.ClientOption{})))
		return "rejected"
	case differs(reflect.ValueOf(before), reflect.ValueOf(after)) != "":
		return "changed"
	default:
		return "same"
	}
}

// Interfaces among the fields, with a value each.
type (
	limiter   struct{ redis.Limiter }
	streaming struct {
		auth.StreamingCredentialsProvider
	}
	notification struct{ push.NotificationProcessor }
	cache        struct{ redis.Cache }
)

// sample returns a value for a field that differs from those of all bases.
func sample(t *testing.T, field reflect.StructField) reflect.Value {
	t.Helper()
	v := reflect.New(field.Type).Elem()
	switch field.Type.Kind() {
	case reflect.String:
		v.SetString("unix")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
		if field.Type == reflect.TypeFor[time.Duration]() {
			v.SetInt(int64(7 * time.Second))
		}
	case reflect.Slice:
		v = reflect.Append(v, reflect.ValueOf("127.0.0.1:7009"))
	case reflect.Pointer:
		v = reflect.New(field.Type.Elem())
	case reflect.Func:
		v = reflect.MakeFunc(field.Type, func([]reflect.Value) []reflect.Value { panic("it is not called") })
	case reflect.Interface:
		for _, value := range []any{limiter{}, streaming{}, notification{}, cache{}} {
			if reflect.TypeOf(value).Implements(field.Type) {
				v.Set(reflect.ValueOf(value))
			}
		}
		if v.IsNil() && field.Name == "ShardPicker" { // of an internal package
			o := &redis.ClusterOptions{Addrs: []string{"127.0.0.1:7001"}}
			require.NoError(t, redis.NewClusterClient(o).Close())
			return reflect.ValueOf(o.ShardPicker)
		}
	}
	require.False(t, v.IsZero(), "a sample of type %v is missing", field.Type)
	return v
}

// differs returns the path to the first difference, or "". Of functions it compares only whether they are nil, and
// pointers are the same only if they point to the same.
func differs(a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if at := differs(a.Field(i), b.Field(i)); at != "" {
				return a.Type().Field(i).Name + "." + at
			}
		}
		return ""
	case reflect.Func:
		if a.IsNil() == b.IsNil() {
			return ""
		}
	case reflect.Slice:
		if a.IsNil() == b.IsNil() && a.Len() == b.Len() {
			for i := range a.Len() {
				if at := differs(a.Index(i), b.Index(i)); at != "" {
					return at
				}
			}
			return ""
		}
	default:
		if a.Equal(b) {
			return ""
		}
	}
	return a.Kind().String()
}

// name matches the name of a field in the first cell of a row.
var name = regexp.MustCompile("`([\\w.]+)`")

// documented returns the table of docs/goredis.md that has a field, by its name or by Struct.Name.
func documented(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/goredis.md")
	require.NoError(t, err)
	tables, table := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			table = strings.TrimSpace(title)
		}
		cells := strings.Split(line, "|")
		if len(cells) < 3 || table != "Carried over" && table != "Rejected" && table != "Ignored" {
			continue
		}
		for _, found := range name.FindAllStringSubmatch(cells[1], -1) {
			require.Empty(t, tables[found[1]], "two rows have "+found[1])
			tables[found[1]] = table
		}
	}
	require.NotEmpty(t, tables)
	return tables
}
