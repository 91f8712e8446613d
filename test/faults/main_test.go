// Package faults_test covers servers and links that fail, lie or stand still. Faults of every kind in the catalogue
// strike each kind of lock. Other tests check histories, cut a holder off, fuzz replies, or soak for minutes.
package faults_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMain(m *testing.M) { locktest.RunTests(m) }
