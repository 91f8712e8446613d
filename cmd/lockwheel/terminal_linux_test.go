package main

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openDevice opens the other end of a terminal.
func openDevice(keyboard int) (*os.File, error) {
	if err := unix.IoctlSetPointerInt(keyboard, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(keyboard, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	return os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
}
