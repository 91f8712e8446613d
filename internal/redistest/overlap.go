package redistest

import (
	"flag"
	"runtime"
	"strconv"
)

// Overlap lets up to so many of a package's parallel tests run at once, also where there are fewer processors: for tests that wait for
// leases and for servers most of the time. For TestMain, before it runs the tests. What -parallel says wins; and fuzzing, whose
// processes -parallel counts, is left as it is.
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
