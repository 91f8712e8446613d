package coordinator

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/engine/histogram"
)

// Each gauge of a closed engine is 0, and each counter stays, also those that will be added. A gauge is signed and a
// counter is not, as the tests of both exporters check.
func TestStats_Closed_GaugesZeroCountersStay(t *testing.T) {
	var stats Stats
	value := reflect.ValueOf(&stats).Elem()
	for i := range value.NumField() {
		switch field := value.Field(i).Addr().Interface().(type) {
		case *int64:
			*field = 1
		case *uint64:
			*field = 1
		case *time.Duration:
			*field = time.Second
		case *histogram.Durations:
			field.Add(time.Second)
		case *histogram.Sizes:
			field.Add(7)
		default:
			t.Fatalf("%s has a type of which this test does not know if it is a gauge", value.Type().Field(i).Name)
		}
	}
	stats.EndGauges()
	for i := range value.NumField() {
		gauge := value.Field(i).Kind() == reflect.Int64
		require.Equal(t, gauge, value.Field(i).IsZero(), value.Type().Field(i).Name)
	}
}
