package demo

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockwheel/lockwheel/internal/leaks"
)

// asCommand makes the test's own program the command, for tests that need a process.
const asCommand = "LOCKWHEEL_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(Run(UntilSignal(), os.Args[1:], os.Stdout, os.Stderr))
	}
	leaks.Main(m)
}

// command runs the command in this process.
func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	status = Run(t.Context(), args, &out, &err)
	return status, out.String(), err.String()
}

func TestCommand_Help_Printed(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"-help"}, {"--help"}} {
		status, stdout, stderr := command(t, args...)
		assert.Equal(t, exitOK, status, args)
		assert.Contains(t, stdout, "default 10000", args)
		assert.Contains(t, stdout, "It exits with 0 if", args)
		assert.Empty(t, stderr, args)
	}
}

func TestCommand_WrongArguments_Exits2(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"extra", `unexpected argument "extra"`},
		{"-nope", "not defined: -nope"},
		{"-locks many", `invalid value "many" for flag -locks`},
		{"-locks 0", "-locks 0: want 1 to"},
		{"-locks 10000001", "-locks 10000001: want 1 to"},
		{"-for 30", "-for: want a number with its unit, as 30s"},
		{"-for -1s", "-for -1s: want at least 100ms"},
		{"-workers 0", "-workers 0: want 1 to"},
		{"-hot -1", "-hot must not be negative"},
		{"-lease 99ms", "-lease 99ms: want at least 100ms"},
		{"-lease -1s", "-lease -1s: want at least 100ms"},
		{"-redis localhost", "-redis: want host:port, or a URL"},
		{"-redis http://localhost", "its scheme is none of"},
		{"-redis redis://me:secret@host/%zz", "it cannot be read, want redis://user:password@host:port"},
	} {
		status, stdout, stderr := command(t, strings.Fields(c.args)...)
		assert.Equal(t, exitUsage, status, c.args)
		assert.Contains(t, stderr, c.want, c.args)
		assert.NotContains(t, stderr, "secret", c.args)
		assert.Empty(t, stdout, c.args)
	}
}

func TestCommand_ServerAbsent_Named(t *testing.T) {
	status, stdout, stderr := command(t, "-redis", "redis://me:secret@127.0.0.1:1")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr, "127.0.0.1:1")
	assert.Contains(t, stderr, "refused")
	assert.Contains(t, stderr, "Without -redis")
	assert.NotContains(t, stderr, "secret")
	assert.Empty(t, stdout)
}
