package redistest

import (
	"flag"
	"runtime"
	"strconv"
)

// Overlap lets up to the given number of a package's parallel tests run at once, also on machines with fewer
// processors. It is for tests that mostly wait for leases and servers. TestMain calls it before it runs the tests.
// A -parallel flag takes precedence. Overlap changes nothing for fuzzing, because there -parallel is the number of
// processes.
func Overlap(tests int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" || f.Name == "test.fuzz" })
	if told || tests <= runtime.GOMAXPROCS(0) {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err)
	}
}
