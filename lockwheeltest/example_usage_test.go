package lockwheeltest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

// The tests of this file are those of docs/testing-your-code.md.

func TestExport_LockLost_Stops(t *testing.T) {
	server := lockwheeltest.New(t)
	rows, done := make(chan int), make(chan error)
	go func() {
		_, err := exportRows(t.Context(), server.Engine(), rows)
		done <- err
	}()
	rows <- 1 // the export has its lock

	server.Lose("export")
	if err := <-done; !errors.Is(err, lockwheel.ErrLost) {
		t.Fatal(err)
	}
}

func TestCleanUp_HeldElsewhere_GivesUp(t *testing.T) {
	server := lockwheeltest.New(t)
	release := server.HoldElsewhere("clean-up")
	if did, err := cleanUp(t.Context(), server.Engine()); did || err != nil {
		t.Fatal(did, err)
	}
	release()
	if did, err := cleanUp(t.Context(), server.Engine()); !did || err != nil {
		t.Fatal(did, err)
	}
}

func TestReport_Outage_IsYesterdays(t *testing.T) {
	server := lockwheeltest.New(t)
	server.Down()
	if got, err := report(t.Context(), server.Engine()); got != "yesterday's report" || err != nil {
		t.Fatal(got, err)
	}
	server.Up()
	if got, err := report(t.Context(), server.Engine()); got != "today's report" || err != nil {
		t.Fatal(got, err)
	}
}

func TestExport_LongOutage_Stops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t)
		rows, done := make(chan int), make(chan error, 1)
		go func() {
			_, err := exportRows(t.Context(), server.Engine(), rows)
			done <- err
		}()
		rows <- 1
		time.Sleep(time.Hour) // the engine renews the lock
		rows <- 2

		server.Down()
		time.Sleep(31 * time.Second) // Options.Lease and a second
		if err := <-done; !errors.Is(err, lockwheel.ErrLost) {
			t.Fatal(err)
		}
	})
}

func TestExport_HeldElsewhere_Waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t)
		release := server.HoldElsewhere("export")
		rows, done := make(chan int), make(chan error, 1)
		go func() {
			_, err := exportRows(t.Context(), server.Engine(), rows)
			done <- err
		}()
		time.Sleep(time.Minute)
		if waiting := server.Engine().Stats().Waiting; waiting != 1 {
			t.Fatal(waiting)
		}
		release()
		rows <- 1 // the export has its lock
		close(rows)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestExport_ShortLease_LostInOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t, lockwheeltest.WithOptions(lockwheel.Options{Lease: 5 * time.Second}))
		rows, done := make(chan int), make(chan error, 1)
		go func() {
			_, err := exportRows(t.Context(), server.Engine(), rows)
			done <- err
		}()
		rows <- 1
		server.Down()
		if err := <-done; !errors.Is(err, lockwheel.ErrLost) {
			t.Fatal(err)
		}
	})
}
