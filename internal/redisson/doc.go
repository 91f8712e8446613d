// Package redisson runs Redisson, in the Java program of interop/java, for tests and benchmarks: it builds the program
// with Maven, starts it, and speaks with it in lines.
//
// In a test:
//
//	java := redisson.Start(t)                                  // skips the test where there is no Java
//	java.Do(ctx, "open", redisson.Words{"client": "a", "address": "redis://127.0.0.1:6379"})
//	java.Do(ctx, "lock", redisson.Words{"client": "a", "owner": "x", "kind": "plain", "name": "n"})
//
// The program is built once for each content of its sources, into interop/java/target, and ends with the process that started
// it. Its commands are those of Peer.java.
//
// What needs Java fails without it, instead of being skipped, where LOCKWHEEL_REQUIRE_SERVER=1 or CI=true.
package redisson
