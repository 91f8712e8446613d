package goredis

import (
	"cmp"
	"errors"
	"fmt"
)

// fields collects the fields of a struct that cannot be carried over.
type fields struct {
	of       string            // the struct
	names    map[string]string // the names that the struct has for fields of another one
	rejected []error
}

// reject records a field if it is set to what cannot be carried over. The text must not contain its value.
func (f *fields) reject(is bool, field, because string) {
	if is {
		f.rejected = append(f.rejected, fmt.Errorf("goredis: %s.%s: %s", f.of, cmp.Or(f.names[field], field), because))
	}
}

func (f *fields) err() error { return errors.Join(f.rejected...) }
