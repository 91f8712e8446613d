package demo

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExclusionCheck_Overlap_Counted(t *testing.T) {
	var exclusion exclusionCheck
	exclusion.enter()
	exclusion.leave()
	exclusion.enter()
	assert.Zero(t, exclusion.violations.Load(), "one after the other is fine")
	exclusion.enter()
	exclusion.enter()
	exclusion.leave()
	exclusion.leave()
	exclusion.leave()
	assert.EqualValues(t, 2, exclusion.violations.Load())
	assert.EqualValues(t, 3, exclusion.peak.Load())
}

// The peak stays when there are fewer holders again.
func TestExclusionCheck_FewerLater_PeakStays(t *testing.T) {
	var exclusion exclusionCheck
	for range 3 {
		exclusion.enter()
	}
	for range 3 {
		exclusion.leave()
	}
	exclusion.enter()
	assert.EqualValues(t, 3, exclusion.peak.Load())
	assert.EqualValues(t, 2, exclusion.violations.Load())
}
