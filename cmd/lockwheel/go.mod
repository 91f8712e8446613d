module github.com/lockwheel/lockwheel/cmd/lockwheel

go 1.26.0

// There is no v0.0.0 of the library and of lockwheelprom: in this tree go.work finds them, with the replaces in bench/go.mod
// and examples/gateway/go.mod. At a release both are tagged first, then their versions are required here, and
// cmd/lockwheel/vX.Y.Z is tagged. There is no replace, because with one
// go install github.com/lockwheel/lockwheel/cmd/lockwheel@vX.Y.Z would not work.
require (
	github.com/lockwheel/lockwheel v0.0.0
	github.com/lockwheel/lockwheel/lockwheelprom v0.0.0
	github.com/prometheus/client_golang v1.25.0
	github.com/redis/rueidis v1.0.79
	github.com/spf13/cobra v1.10.2
	github.com/stretchr/testify v1.12.1
	golang.org/x/sys v0.48.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
