package inspect

import (
	"context"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/internal/redisurl"
)

// Load is how busy a node is: counters since its start, to be subtracted from one another, and its number of keys.
type Load struct {
	At        time.Time
	Keys      int64
	Commands  float64 // all commands
	Scripts   float64 // calls of scripts, which carry the commands of engines
	Published float64
	Version   string

	Refused []string // why the server does not tell some of these, which are 0 or empty: the commands with their errors
	NoKeys  bool     // it does not tell Keys
	NoInfo  bool     // it does not tell the others
}

// Load asks a node how busy it is. What the server does not tell is 0.
func (s *Server) Load(ctx context.Context, n Node) (l Load, err error) {
	b := n.client.B()
	replies, err := s.ask(ctx, n.client, b.Dbsize().Build(), b.Info().Section("server").Build(), b.Info().Section("stats").Build(),
		b.Info().Section("commandstats").Build())
	if err != nil {
		return l, err
	}
	l.At = time.Now()
	if l.Keys, err = replies[0].AsInt64(); err != nil {
		l.NoKeys = true
		l.Refused = append(l.Refused, "DBSIZE: "+redisurl.WithoutSecrets(err, &s.option).Error())
	}
	fields := make(map[string]string)
	for _, reply := range replies[1:] {
		text, err := reply.ToString()
		if err != nil && !l.NoInfo { // the other sections are refused as well
			l.NoInfo = true
			l.Refused = append(l.Refused, "INFO: "+redisurl.WithoutSecrets(err, &s.option).Error())
		}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			fields[name] = value
		}
	}
	l.Commands = number(fields["total_commands_processed"])
	if l.NoInfo {
		return l, nil
	}
	l.Scripts = calls(fields["cmdstat_evalsha"]) + calls(fields["cmdstat_eval"]) + calls(fields["cmdstat_fcall"])
	l.Published = calls(fields["cmdstat_publish"]) + calls(fields["cmdstat_spublish"])
	if l.Version = "Redis " + fields["redis_version"]; fields["valkey_version"] != "" {
		l.Version = "Valkey " + fields["valkey_version"]
	}
	return l, nil
}

// calls reads the number of calls of a line of INFO commandstats.
func calls(line string) float64 {
	first, _, _ := strings.Cut(line, ",")
	return number(strings.TrimPrefix(first, "calls="))
}
