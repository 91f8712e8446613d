// Package leader elects one leader among processes by a lock. [Run] waits until its process has the lock, runs a
// function while the lock is held, and then takes part in the next election:
//
//	err := leader.Run(ctx, locks.FencedMutex("billing/leader"), work, leader.Options{})
//
//	func work(ctx context.Context, hold *lockwheel.Hold) error {
//		for {
//			select {
//			case <-ctx.Done(): // the lock is lost, or the process shuts down
//				return context.Cause(ctx)
//			case invoice := <-due:
//				if err := hold.Err(); err != nil {
//					return err // after a pause of the process ctx may not have ended yet
//				}
//				send(ctx, invoice, hold.Token())
//			}
//		}
//	}
//
// If the leader's process dies, another one leads after at most one lease and some milliseconds (lockwheel's
// Options.Lease, by default 30 s). If the leader shuts down in an orderly way, another one leads a round trip later.
//
// The context of work ends within moments of a loss. A process that was stopped for longer than its lease can run for
// such a moment before it ends; [lockwheel.Hold.Err] compares the clock and knows at once. So ask it before each piece
// of work.
//
// The guarantees are those of the lock, on the same conditions (docs/guarantees.md): above all, the server keeps what
// it has confirmed. Then two holds of one lock never have Err() == nil at the same time, so two leaders never both have
// a reason to think that they lead. After a restart of a server that keeps nothing there can be two, until the older
// one is renewed: for at most Options.RenewInterval. And a process can stop between asking and writing. A store that
// must never have a write from an old leader needs the token of a FencedMutex with each, and rejects smaller ones.
package leader
