//go:build unix && !linux

package main

import (
	"errors"
	"os"
)

func openDevice(int) (*os.File, error) { return nil, errors.New("not opened on this system") }
