package identity

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// maxEngineName is the length, in bytes, of the longest Options.Name.
const maxEngineName = 256

// CheckName checks an Options.Name.
func CheckName(name string) error {
	if len(name) > maxEngineName {
		return fmt.Errorf("Options.Name of %d bytes: want at most %d", len(name), maxEngineName)
	}
	return nil
}

// CheckPage checks an Options.PageAddress. It does not repeat the address, because it may contain a password.
func CheckPage(address string) error {
	if len(address) > MaxText {
		return fmt.Errorf("Options.PageAddress of %d bytes: want at most %d", len(address), MaxText)
	}
	if strings.Contains(address, "@") { // wherever it is: a password may have a slash before it
		return errors.New("Options.PageAddress: it must not have a user or a password in it; an @ elsewhere is written as %40")
	}
	return nil
}

// OfProcess returns the record of an engine of this process, opened now.
func OfProcess(name, page string) Record {
	return Record{
		Name: name, Program: programName(), Host: hostName(), PID: os.Getpid(),
		Version: libraryVersion(debug.ReadBuildInfo()), Started: time.Now(), Page: page,
	}
}

// DefaultName returns the name of an engine that its program did not name.
func DefaultName() string {
	name := fmt.Sprintf("%s@%s:%d", programName(), hostName(), os.Getpid())
	return name[max(len(name)-maxEngineName, 0):]
}

// programName returns the base name of the program, without its arguments.
func programName() string {
	if len(os.Args) == 0 || os.Args[0] == "" {
		return "unknown"
	}
	return filepath.Base(os.Args[0])
}

func hostName() string {
	host, _ := os.Hostname()
	return cmp.Or(host, "unknown")
}

const modulePath = "github.com/lockwheel/lockwheel"

// libraryVersion returns the version of lockwheel in a program.
func libraryVersion(info *debug.BuildInfo, known bool) string {
	if !known {
		return "(unknown)"
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module != nil && module.Path == modulePath {
			return cmp.Or(module.Version, "(devel)")
		}
	}
	return "(devel)"
}

// ConnectionName returns a name with _ for the characters that a server does not take in the name of a connection.
func ConnectionName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < '!' || r > '~' {
			return '_'
		}
		return r
	}, name)
}
