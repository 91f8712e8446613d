// Package migrate has the Go of the pages beside it: before, while both run, and after. It is all in tests, so that
// each page shows what compiles. What can run without etcd, Consul or a database runs. It is not to be imported.
package migrate
