package lockwheel.interop;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Many held, watched locks, by the client's name. */
final class Stock {
  private static final int AT_ONCE = 1024;
  private static final long OWNER = 1;

  private final Clients clients;
  private final Map<String, RLock[]> held = new ConcurrentHashMap<>();

  Stock(Clients clients) {
    this.clients = clients;
  }

  Answer take(Request r) throws Exception {
    RedissonClient client = clients.get(r.text("client"));
    RLock[] locks = new RLock[(int) r.number("locks")];
    for (int i = 0; i < locks.length; i++) {
      locks[i] = client.getLock(r.text("name") + i);
    }
    each(locks.length, i -> locks[i].lockAsync(OWNER));
    held.put(r.text("client"), locks);
    return new Answer();
  }

  /** How many are not held any more according to the server: Redisson does not report it. */
  Answer lost(Request r) throws Exception {
    RLock[] locks = held.get(r.text("client"));
    AtomicInteger lost = new AtomicInteger();
    each(locks.length, i -> locks[i].isHeldByThreadAsync(OWNER).thenAccept(is -> {
      if (!is) {
        lost.incrementAndGet();
      }
    }));
    return Answer.of("lost", lost.get());
  }

  Answer giveBack(Request r) throws Exception {
    RLock[] locks = held.remove(r.text("client"));
    each(locks.length, i -> locks[i].unlockAsync(OWNER));
    return new Answer();
  }

  /** Runs an operation the given number of times, at most AT_ONCE concurrently, and throws the first error. */
  private static void each(int times, IntFunction<CompletionStage<?>> what) throws Exception {
    Semaphore room = new Semaphore(AT_ONCE);
    AtomicReference<Throwable> failed = new AtomicReference<>();
    for (int i = 0; i < times && failed.get() == null; i++) {
      room.acquire();
      what.apply(i).whenComplete((done, failure) -> {
        if (failure != null) {
          failed.compareAndSet(null, failure);
        }
        room.release();
      });
    }
    room.acquire(AT_ONCE);
    if (failed.get() != null) {
      CompletableFuture.failedFuture(failed.get()).get();
    }
  }
}
