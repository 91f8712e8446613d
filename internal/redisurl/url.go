// Package redisurl parses URLs of servers as rueidis does, and rejects what would be read as something else. Its errors
// repeat no part of a URL.
package redisurl

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// The errors of a URL. The errors of net/url and of rueidis repeat the part that they cannot read. If the password
// contains a / or a #, that part includes some of the password.
var (
	errURL     = errors.New("it cannot be read, want redis://host:port")
	errEscape  = errors.New("it cannot be read, want redis://user:password@host:port; in a user and a password write % / ? # [ ] and what is no letter or digit as %25 %2F %3F %23 %5B %5D and so on")
	errLateAt  = errors.New("an @ stands behind the host: in a user and a password write / ? # as %2F %3F %23, and behind the host @ as %40")
	errScheme  = errors.New("its scheme is none of redis, rediss, valkey, valkeys and unix, want redis://host:port")
	errAddress = errors.New("an address in it is not host:port; an IPv6 address stands in [ ], and a user and a password before an @")
	errSetting = errors.New("it has a setting behind the ? that is not known: those of rueidis.ParseURL are")
	errQuery   = errors.New("what stands behind the ? cannot be read, want ?name=value&name=value, with % and ; as %25 and %3B")
	errUnix    = errors.New("it names no socket, or a host as well, want unix:///path/to/redis.sock")
	errHash    = errors.New("it has a # in it: in a user and a password write it as %23")
)

// urlSchemes are the schemes that rueidis.ParseURL accepts.
var urlSchemes = []string{"redis", "rediss", "valkey", "valkeys", "unix"}

// urlRefusals maps the beginnings of error texts of rueidis.ParseURL to errors that do not repeat the URL.
var urlRefusals = map[string]error{
	"redis: invalid database number": errors.New("its database is no number, want redis://host:port/0"),
	"redis: invalid URL path":        errors.New("its path is more than a database, want redis://host:port/0"),
	"redis: invalid dial timeout":    errors.New("its dial_timeout is no duration as 3s"),
	"redis: invalid write timeout":   errors.New("its write_timeout is no duration as 3s"),
	"redis: invalid skip verify":     errors.New("its skip_verify is neither true nor false"),
}

// Parse parses the URL of a server, as lockwheel.ParseURL describes. Its errors contain no part of a user or password.
func Parse(text string) (option rueidis.ClientOption, err error) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil && strings.Contains(text, "@"):
		return option, errEscape
	case err != nil:
		return option, errURL
	case !slices.Contains(urlSchemes, parsed.Scheme):
		return option, errScheme
	case hasStrayAt(text):
		return option, errLateAt
	case strings.Contains(text, "#"):
		return option, errHash
	case parsed.Opaque != "":
		return option, errURL
	case !strings.Contains(parsed.Host, "]") && strings.Count(parsed.Host, ":") > 1:
		return option, errAddress // rueidis would take the port for a part of an IPv6 address
	}
	settings, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return option, errQuery
	}
	if err = wrongSetting(parsed, settings); err != nil {
		return option, err
	}
	if parsed.Path == "/" && parsed.Scheme != "unix" {
		parsed.Path = ""
		text = parsed.String()
	}
	if option, err = rueidis.ParseURL(text); err != nil {
		for begins, ours := range urlRefusals {
			if strings.HasPrefix(err.Error(), begins) {
				return option, ours
			}
		}
		return option, errURL
	}
	if parsed.Scheme != "unix" && slices.ContainsFunc(option.InitAddress, func(address string) bool { return IsOddAddress(address) || !checkNumber(address) }) {
		return option, errAddress
	}
	if option.SelectDB < 0 {
		return option, urlRefusals["redis: invalid database number"]
	}
	secure(&option)
	return option, nil
}

// secure gives sentinels the TLS settings of their master. If a URL names several hosts, each certificate is checked
// for its own host; rueidis would check all of them against the first.
func secure(option *rueidis.ClientOption) {
	if option.TLSConfig == nil {
		return
	}
	for _, address := range option.InitAddress {
		if host, _, _ := net.SplitHostPort(address); host != option.TLSConfig.ServerName {
			option.TLSConfig.ServerName = ""
		}
	}
	if option.Sentinel.MasterSet != "" {
		option.Sentinel.TLSConfig = option.TLSConfig
	}
}

// hasStrayAt reports whether the text has an @ behind the part with the user and the password.
func hasStrayAt(text string) bool {
	_, rest, found := strings.Cut(text, "://")
	if !found {
		return strings.Contains(text, "@")
	}
	end := strings.IndexAny(rest, "/?#")
	return end >= 0 && strings.Contains(rest[end:], "@")
}

// IsOddAddress reports whether an address contains something that host:port cannot. It may be a URL, a list of
// settings, or a user and a password with a forgotten host.
func IsOddAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || strings.ContainsRune("@/\\?#&=,;\"'", r) }) {
		return true
	}
	_, err = netip.ParseAddr(host)
	return strings.Contains(host, ":") && err != nil
}

// WithoutSecrets replaces the text of a connection error in which the server repeats the user or the password.
func WithoutSecrets(err error, redis *rueidis.ClientOption) error {
	return rediserr.RedactError(err, rediserr.Secret{Text: redis.Username, User: true}, rediserr.Secret{Text: redis.Password},
		rediserr.Secret{Text: redis.Sentinel.Username, User: true}, rediserr.Secret{Text: redis.Sentinel.Password})
}
