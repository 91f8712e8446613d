package demo

import (
	"errors"
	"time"
)

// durationFlag is a duration flag. The flag package's own type reports only "parse error" if the unit is missing.
type durationFlag time.Duration

func (s *durationFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a number with its unit, as 30s, 5m or 500ms")
	}
	*s = durationFlag(d)
	return nil
}

func (s *durationFlag) String() string {
	if *s == 0 {
		return "" // a default that depends on other flags: the flag's text explains it
	}
	return time.Duration(*s).String()
}
