package redisurl

import (
	"errors"
	"net"
	"net/url"
	"strconv"
)

// urlSettings are the settings that rueidis.ParseURL reads, each with a check of its value; for nil, rueidis checks
// the value itself. It ignores all other settings, and so would silently drop a password among them.
var urlSettings = map[string]func(string) bool{
	"addr":          func(address string) bool { return !IsOddAddress(address) && checkNumber(address) },
	"client_cache":  isNumber,
	"client_name":   nil,
	"db":            nil,
	"dial_timeout":  nil,
	"master_set":    func(name string) bool { return name != "" },
	"max_retries":   isNumber,
	"protocol":      func(version string) bool { return version == "2" || version == "3" },
	"skip_verify":   nil,
	"write_timeout": nil,
}

var (
	errTwice = errors.New("it has a setting twice that can be there once, or two databases")
	errValue = errors.New("one of client_cache, max_retries, protocol and master_set has a value that makes no sense")
	errNoTLS = errors.New("it has skip_verify but no TLS, want rediss://host:port")
)

// wrongSetting returns an error if rueidis would misread or ignore one of the settings behind the ?.
func wrongSetting(of *url.URL, settings url.Values) error {
	for name, values := range settings {
		sensible, known := urlSettings[name]
		if !known {
			return errSetting
		}
		if len(values) > 1 && name != "addr" {
			return errTwice
		}
		for _, value := range values {
			if sensible == nil || sensible(value) {
				continue
			}
			if name == "addr" {
				return errAddress
			}
			return errValue
		}
	}
	return contradiction(of, settings)
}

// contradiction returns an error if the settings do not fit the rest of the URL.
func contradiction(of *url.URL, settings url.Values) error {
	unix := of.Scheme == "unix"
	switch {
	case unix && (of.Host != "" || of.Path == "" || settings.Has("addr") || settings.Has("master_set")):
		return errUnix
	case settings.Has("skip_verify") && of.Scheme != "rediss" && of.Scheme != "valkeys":
		return errNoTLS
	case !unix && settings.Has("db") && of.Path != "" && of.Path != "/":
		return errTwice
	}
	return nil
}

// checkNumber reports whether an address has a host and a valid port.
func checkNumber(address string) bool {
	host, port, err := net.SplitHostPort(address)
	n, wrong := strconv.ParseUint(port, 10, 16)
	return err == nil && wrong == nil && host != "" && n > 0
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 31)
	return err == nil
}
