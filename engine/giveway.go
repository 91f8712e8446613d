package engine

import "runtime"

// giveWay lets those run first who are ready to, while at least two batches are under way: the server has
// work, and mail that comes together makes one turn and larger batches. It is called once a turn, and
// nobody waits in it for anything. Measured: with 2048 callers a turn takes in 45 pieces of mail and not
// 1.5, and a pair costs 4.4 and not 5.2 µs of processor time; 16 callers do 1.6 times as many pairs. A
// lone caller never pays for it.
func (e *Engine) giveWay() {
	if e.coordinator.outside() >= 2 {
		runtime.Gosched()
	}
}
