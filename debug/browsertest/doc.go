// Package browsertest opens the page of package debug in a browser. It is a module of its own, so that the library does
// not require a driver of browsers. Its tests need Chromium: Debian's package chromium. Without it they are skipped, or
// fail with LOCKWHEEL_REQUIRE_SERVER=1, as in CI.
//
// The pictures of docs/operate/page.md are made by
//
//	go test -run Screenshot . -screenshot ../../docs/operate
package browsertest
