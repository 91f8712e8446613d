package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// machine is where and with what was measured.
type machine struct {
	cpu      string
	system   string
	server   string
	versions map[string]string // of modules
}

func describe(s *bench.Server) (machine, error) {
	server, err := s.Version()
	m := machine{
		cpu:      fmt.Sprintf("%d cores, %s", runtime.NumCPU(), fieldOf("/proc/cpuinfo", "model name")),
		system:   fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version()),
		server:   server,
		versions: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			m.versions[dep.Path] = dep.Version
		}
	}
	m.versions[peers.Lockwheel.Module] = commit()
	m.versions[peers.Redisson.Module] = peers.RedissonVersion()
	return m, err
}

// commit is the library's own version: it is used as it lies here.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "as it lies here"
	}
	return strings.TrimSpace(string(out))
}

// fieldOf reads a "name : value" line of a file of the system, where there is such a file.
func fieldOf(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
