package lockwheel.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.api.RFuture;
import org.redisson.api.RLock;

/**
 * Workers that lock and unlock for a while. They are chains of Redisson's asynchronous calls, not threads, so even with
 * very many workers none waits for the wakeup of a thread.
 */
final class Round {
  private static final long GRACE_MS = 10_000;
  private static final long CANCEL_MS = 20;

  final List<Worker> workers = new ArrayList<>();
  long half; // end of the first half

  private final AtomicInteger inside = new AtomicInteger();
  private final AtomicInteger overlaps = new AtomicInteger();
  private final CompletableFuture<Void> failed = new CompletableFuture<>();
  private final boolean contended;
  private CountDownLatch working;
  private volatile boolean over;

  /**
   * With contention, waits are canceled at the end. Without it they end by themselves, and a canceled one may leave locks
   * behind: those that its request acquires afterwards.
   */
  Round(boolean contended) {
    this.contended = contended;
  }

  /** Adds a worker that takes one of these locks after the other. */
  void add(long owner, RLock... locks) {
    workers.add(new Worker(locks, owner));
  }

  long pairs() {
    return workers.stream().mapToLong(w -> w.pairs).sum();
  }

  /** How often two workers were inside at once; meaningful if all want one name. */
  int overlaps() {
    return overlaps.get();
  }

  /** Returns how many nanoseconds it took until all workers were done. Throws the first error of a worker. */
  long run(long ms) throws Exception {
    working = new CountDownLatch(workers.size());
    long began = System.nanoTime();
    half = began + TimeUnit.MILLISECONDS.toNanos(ms) / 2;
    for (Worker worker : workers) {
      worker.last = began;
      worker.ask();
    }
    try {
      failed.get(Math.max(0, ms - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began)), TimeUnit.MILLISECONDS);
    } catch (TimeoutException itWentWell) {
      comeBack();
    }
    return System.nanoTime() - began;
  }

  private void comeBack() throws InterruptedException {
    over = true;
    long patience = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GRACE_MS);
    while (!working.await(CANCEL_MS, TimeUnit.MILLISECONDS)) {
      if (System.nanoTime() > patience) {
        throw new IllegalStateException("hangs: workers did not come back within " + GRACE_MS + " ms");
      }
      if (contended) {
        workers.forEach(Worker::cancel);
      }
    }
  }

  /** One worker. Its fields belong to the thread that runs its next step. */
  final class Worker {
    private final RLock[] locks;
    private final long owner;
    private int at; // index of the next lock
    private volatile RFuture<Void> waiting;
    private long asked;
    long pairs;
    long longest; // wait, in nanoseconds, including one that the end of the round cut off
    long last;    // when it was granted

    private Worker(RLock[] locks, long owner) {
      this.locks = locks;
      this.owner = owner;
    }

    private void ask() {
      if (over) {
        working.countDown();
        return;
      }
      asked = System.nanoTime();
      waiting = locks[at].lockAsync(owner);
      waiting.whenComplete((locked, failure) -> granted(failure));
    }

    private void granted(Throwable failure) {
      long now = System.nanoTime();
      longest = Math.max(longest, now - asked);
      if (failure != null) {
        fail(failure);
        return;
      }
      last = now;
      if (inside.incrementAndGet() != 1) {
        overlaps.incrementAndGet();
      }
      inside.decrementAndGet();
      locks[at].unlockAsync(owner).whenComplete((unlocked, failing) -> released(failing));
    }

    private void released(Throwable failure) {
      if (failure != null) {
        fail(failure);
        return;
      }
      pairs++;
      at = (at + 1) % locks.length;
      ask();
    }

    private void fail(Throwable failure) {
      if (!over) {
        failed.completeExceptionally(failure);
        over = true;
      }
      working.countDown();
    }

    private void cancel() {
      RFuture<Void> wait = waiting;
      if (wait != null) {
        wait.cancel(true);
      }
    }
  }
}
