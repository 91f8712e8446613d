module github.com/lockwheel/lockwheel/cmd/lockwheel

go 1.25.0

// There is no v0.0.0 of the library: in this tree go.work finds it, with the replace in bench/go.mod. At a release the library is tagged first, then its
// version is required here, and cmd/lockwheel/vX.Y.Z is tagged. There is no replace, because with one
// go install github.com/lockwheel/lockwheel/cmd/lockwheel@vX.Y.Z would not work.
require (
	github.com/lockwheel/lockwheel v0.0.0
	github.com/redis/rueidis v1.0.79
	github.com/spf13/cobra v1.10.2
	github.com/stretchr/testify v1.12.1
	golang.org/x/sys v0.47.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
