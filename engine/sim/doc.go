// Package sim is the simulation. It has tests only: several engines, each the real coordinator and mailbox, run against
// a model of the server and of the network. A seed decides what is late, lost, repeated, rejected, restarted, paused or
// suspended. docs/simulation.md lists what is checked, and after which steps.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package sim
