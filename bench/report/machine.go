package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// machine describes where and with which versions a section was measured.
type machine struct {
	CPU      string
	System   string
	Server   string
	Versions map[string]string // of modules
}

func describeMachine(s *bench.Server) (machine, error) {
	server, err := s.Version()
	m := machine{
		CPU:      fmt.Sprintf("%d cores, %s", runtime.NumCPU(), fieldOf("/proc/cpuinfo", "model name")),
		System:   fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version()),
		Server:   server,
		Versions: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			m.Versions[dep.Path] = dep.Version
		}
	}
	m.Versions[peers.Lockwheel.Module] = commit()
	m.Versions[peers.Redisson.Module] = peers.RedissonVersion()
	return m, err
}

// commit returns the version of the library, which is the working copy. Files that this command writes do not change
// it.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "as it lies here"
	}
	version := strings.TrimSpace(string(out))
	changed, err := exec.Command("git", "status", "--porcelain", "--", ":(top)", ":(top,exclude)README.md", ":(top,exclude)bench/RESULTS.md",
		":(top,exclude)bench/charts", ":(top,exclude)bench/figures").Output()
	if err != nil || len(changed) > 0 {
		version += ", changed"
	}
	return version
}

// differences returns how a section's machine differs from that of the whole report, except in the version of
// lockwheel.
func (m machine) differences(report machine) string {
	var differs []string
	for _, x := range [][2]string{{m.CPU, report.CPU}, {m.System, report.System}, {m.Server, report.Server}} {
		if x[0] != x[1] {
			differs = append(differs, x[0])
		}
	}
	for _, kind := range append(peers.All(), peers.Redisson) {
		v := m.Versions[kind.Module]
		text := kind.Name + " " + v
		if kind.Name != peers.Lockwheel.Name && v != report.Versions[kind.Module] && !slices.Contains(differs, text) {
			differs = append(differs, text)
		}
	}
	return strings.Join(differs, "; ")
}

// loadAverage returns the load average of the last minute, empty where the system does not report it.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// fieldOf returns the value of a "name : value" line of a system file, if there is such a file.
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
