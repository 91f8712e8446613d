// Package redistest starts real servers (redis-server or valkey-server from PATH) for tests, benchmarks and the command,
// breaks them in the ways that servers break, and looks into them with eyes of its own: a few lines that speak the
// protocol, independent of the client that the library uses.
//
// In a test:
//
//	s := redistest.Start(t)                   // skips the test when no server is installed
//	s.Do(t, "HSET", "name", "field", 1)       // any command, on a plain connection
//	require.NoError(t, s.Kill())              // and Stop, Restart, RestartEmpty, Pause, Continue
//
// Elsewhere, Launch does the same with errors instead of a test's verdict.
//
// Every server has a port of 127.0.0.1 and a folder to itself, keeps nothing on disk unless its arguments say so, and ends with
// the test. On Linux it also ends when the process that started it is killed.
//
// Two variables of the environment matter: LOCKWHEEL_SERVER names the program to run, and LOCKWHEEL_REQUIRE_SERVER=1 turns
// the skip into a failure, for machines that must have a server.
package redistest
