// Package redisson runs Redisson, in the Java program of interop/java, for tests and benchmarks. It builds the
// program with Maven, starts it, and exchanges lines of text with it.
//
// In a test:
//
//	java := redisson.Start(t)                                  // skips the test where there is no Java
//	java.Do(ctx, "open", redisson.Fields{"client": "a", "address": "redis://127.0.0.1:6379"})
//	java.Do(ctx, "lock", redisson.Fields{"client": "a", "owner": "x", "kind": "plain", "name": "n"})
//
// The program is built once for each content of its sources, into interop/java/target. It ends with the process
// that started it. Peer.java defines its commands.
//
// With LOCKWHEEL_REQUIRE_SERVER=1 or CI=true, tests that need Java fail without it instead of being skipped.
package redisson
