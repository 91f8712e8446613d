package measure

import (
	"runtime"
	"syscall"
	"time"
)

// Usage is what this process has used so far. The server is another process.
type Usage struct {
	CPU    time.Duration // user and system
	Bytes  uint64        // allocated, freed or not
	Allocs uint64
	Sleeps uint64 `json:",omitempty"` // how often one of its threads gave up the processor, to wait (voluntary context switches)
}

// Used reads the counters. It stops the world for a moment.
func Used() Usage {
	var rusage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &rusage) != nil {
		rusage = syscall.Rusage{}
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return Usage{
		CPU:    time.Duration(rusage.Utime.Nano() + rusage.Stime.Nano()),
		Bytes:  mem.TotalAlloc,
		Allocs: mem.Mallocs,
		Sleeps: uint64(rusage.Nvcsw),
	}
}

// Minus returns what was used between an earlier reading and this one.
func (u Usage) Minus(earlier Usage) Usage {
	return Usage{CPU: u.CPU - earlier.CPU, Bytes: u.Bytes - earlier.Bytes, Allocs: u.Allocs - earlier.Allocs, Sleeps: u.Sleeps - earlier.Sleeps}
}

// LiveHeap returns the reachable memory: the heap after a collection.
func LiveHeap() int64 {
	runtime.GC()
	runtime.GC() // what the finalizers and pools of the first one released
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return int64(mem.HeapAlloc)
}
