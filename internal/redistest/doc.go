// Package redistest starts real servers (redis-server or valkey-server from PATH) for tests, benchmarks and the
// command. It breaks them in the ways that servers break. It inspects them through its own small client of the
// protocol, independent of the client that the library uses.
//
// In a test:
//
//	s := redistest.Start(t)                   // skips the test when no server is installed
//	s.Do(t, "HSET", "name", "field", 1)       // any command, on a plain connection
//	require.NoError(t, s.Kill())              // and Stop, Restart, RestartEmpty, Pause, Continue
//
// Elsewhere, Launch does the same and returns errors instead of ending a test.
//
// Every server has its own port of 127.0.0.1 and its own folder. It keeps nothing on disk unless its arguments say
// so, and ends with the test. On Linux it also ends when the process that started it is killed.
//
// There are two environment variables:
//   - LOCKWHEEL_SERVER names the program to run.
//   - LOCKWHEEL_REQUIRE_SERVER=1 turns the skip into a failure, for machines that must have a server.
package redistest
