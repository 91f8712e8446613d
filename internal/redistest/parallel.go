package redistest

import (
	"flag"
	"runtime"
	"strconv"
)

// SetParallel lets up to the given number of a package's parallel tests run at once, also on machines with fewer
// processors. It is for tests that mostly wait for leases and servers. TestMain calls it before it runs the tests.
// A -parallel flag takes precedence. Overlap changes nothing for fuzzing, because there -parallel is the number of
// processes.
func SetParallel(tests int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" || f.Name == "test.fuzz" })
	if given || tests <= runtime.GOMAXPROCS(0) {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err)
	}
}
