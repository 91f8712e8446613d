package engine

import (
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// nodeWorkers holds the channels to the workers of one node: senders, replica senders and a subscriber. startWorkers
// makes them; a worker ends when its channel is closed. Owned by the loop; a worker has its channel only.
type nodeWorkers struct {
	batches        chan *coordinator.Batch
	replicaBatches chan *coordinator.Batch // batches that WAIT follows
	orders         chan *coordinator.Order
}

// queueFor returns the channel on which a batch is sent to its workers.
func (w *nodeWorkers) queueFor(c *coordinator.Coordinator, b *coordinator.Batch) chan<- *coordinator.Batch {
	if c.WaitsForReplicas(b.Verb) {
		return w.replicaBatches
	}
	return w.batches
}

// startWorkers starts the workers of a new node.
func (e *Engine) startWorkers(n *coordinator.Node) {
	w := &nodeWorkers{
		batches:        make(chan *coordinator.Batch, coordinator.SendersPerNode),
		replicaBatches: make(chan *coordinator.Batch, coordinator.ReplicaSendersPerNode),
		orders:         make(chan *coordinator.Order, 1),
	}
	e.workers[n] = w
	config, address := &e.coordinator.Fx.Config, n.Address
	id := config.ID
	for range coordinator.SendersPerNode {
		relays := &relayer{client: e.server.client, run: e.goroutines.Go}
		e.goroutines.Go(func() {
			runSender(e.server.nodeConn(address), e.encoder(id), w.batches, e.recordWrite(), e.box, relays)
		})
	}
	if config.Replicas != 0 {
		replicas := replication{min: config.Replicas, timeout: config.ReplicaTimeout}
		for range coordinator.ReplicaSendersPerNode {
			s := &replicaSender{
				nodeConn: e.server.nodeConn(address), encoder: e.encoder(id), replicas: replicas,
				lender: e.lender(), poolTimeout: config.CallTimeout,
			}
			e.goroutines.Go(func() { s.run(w.replicaBatches, e.box) })
		}
	}
	listener := &subscriber{
		nodeConn: e.server.nodeConn(address), sharded: e.server.sharded, node: n, box: e.box, orders: w.orders, own: &e.own,
		lender: e.lender(), poolTimeout: subscribePoolTimeout,
		unsubscriber: unsubscriber{run: e.goroutines.Go, done: e.stopped, notesTimeout: config.CallTimeout},
	}
	e.goroutines.Go(listener.run)
}

// encoder returns the encoder of a worker.
func (e *Engine) encoder(id string) *wire.Encoder {
	w := e.server.encoder(id)
	w.Silent = e.announcer == nil
	return w
}

// lender returns a source of dedicated connections. The engine's own client is closed before its workers are waited
// for, which ends every call. In the pool of a client that the program owns, waiting for a connection has no limit in
// time.
func (e *Engine) lender() *lender {
	if e.server.reuseBuffers {
		l := newLender(nil, e.workerRunner())
		l.own = true
		return l
	}
	return newLender(e.stopped, e.workerRunner())
}

// workerRunner returns what starts the goroutines of calls without a deadline. Close waits for those on the engine's
// own client, which has ended them, and not for those on a client that the program owns.
func (e *Engine) workerRunner() func(func()) {
	if e.server.reuseBuffers {
		return e.goroutines.Go
	}
	return onGoroutine
}

// stopWorkers stops the workers of a node. They finish what they have first.
func (e *Engine) stopWorkers(n *coordinator.Node) {
	if w := e.workers[n]; w != nil {
		close(w.batches)
		close(w.replicaBatches)
		close(w.orders)
		delete(e.workers, n)
	}
}

// redial closes the connections to a server that is no longer a master, if its address may lead to the new master.
func (e *Engine) redial(c *coordinator.Coordinator) {
	if !c.Redial {
		return
	}
	e.server.redial()
	if e.log != nil {
		e.log.Warn("lockwheel: the server is a replica; connecting to its address again")
	}
}

// updateWorkers starts and stops workers as the masters change, and sends a pending refresh request for the topology.
func (e *Engine) updateWorkers(c *coordinator.Coordinator) {
	if c.Connected {
		e.server = e.connected.Load()
		if e.server.Cluster() {
			e.startRefreshes()
		}
		e.announce()
	}
	for _, n := range c.Added {
		e.startWorkers(n)
	}
	for _, n := range c.Removed {
		e.stopWorkers(n)
	}
	if cl := c.Cluster; cl != nil && cl.Request != nil {
		e.refreshes <- cl.Request // never blocks: at most one is in flight
	}
}
