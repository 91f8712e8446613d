// Package debug has a page that shows an operator what the engines of a process do. It shows what they hold, what
// callers wait for, whether the server replies, and what happened lately. It uses only the standard library.
//
//	mux.Handle("/debug/locks/", http.StripPrefix("/debug/locks", debug.Handler(debug.Options{}, locks)))
//
// The page has no login and shows the names of locks, so serve it on a port that is not public. It changes nothing
// unless [Options.AllowForce] is set.
//
// One request costs an engine one turn for every 1024 locks, a few turns more for its numbers, and memory for at most
// 101 rows. If rows of the page only wait for a fair or a read/write lock, it costs twice as many turns.
// [Options.MaxLists] bounds how many requests read at a time.
package debug
