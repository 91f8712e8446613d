package main

import (
	"errors"
	"time"
)

// span is a duration as a flag. The flag package's own says no more than "parse error" to somebody who
// forgot the unit.
type span time.Duration

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a number with its unit, as 30s, 5m or 500ms")
	}
	*s = span(d)
	return nil
}

func (s *span) String() string {
	if *s == 0 {
		return "" // a default that is worked out: its flag explains it
	}
	return time.Duration(*s).String()
}
