package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATurnstileRemembersWhoWasNotAlone(t *testing.T) {
	var gate turnstile
	gate.enter()
	gate.leave()
	gate.enter()
	assert.Zero(t, gate.twice.Load(), "one after the other is fine")
	gate.enter()
	gate.enter()
	gate.leave()
	gate.leave()
	gate.leave()
	assert.EqualValues(t, 2, gate.twice.Load())
	assert.EqualValues(t, 3, gate.most.Load())
}
