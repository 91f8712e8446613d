package lockwheel.interop;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RBucket;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** The operations on a lock, on the thread of an owner. */
final class Locks {
  private final Clients clients;

  Locks(Clients clients) {
    this.clients = clients;
  }

  static RLock lockOf(RedissonClient client, String kind, String name) {
    return switch (kind) {
      case "plain" -> client.getLock(name);
      case "fair" -> client.getFairLock(name);
      case "fenced" -> client.getFencedLock(name);
      case "read" -> client.getReadWriteLock(name).readLock();
      case "write" -> client.getReadWriteLock(name).writeLock();
      case "spin" -> client.getSpinLock(name);
      case "multi" -> client.getMultiLock(
          Arrays.stream(name.split(",")).map(client::getLock).toArray(RLock[]::new));
      default -> throw new IllegalArgumentException("no kind " + kind);
    };
  }

  private RLock of(Request r) {
    return lockOf(clients.get(r.text("client")), r.text("kind"), r.text("name"));
  }

  private RFencedLock fenced(Request r) {
    return clients.get(r.text("client")).getFencedLock(r.text("name"));
  }

  /** Waits without a limit. Without a lease the watchdog renews. */
  Answer lock(Request r) {
    of(r).lock(r.number("lease", -1), TimeUnit.MILLISECONDS);
    return new Answer();
  }

  /** Waits only if the command has a wait. */
  Answer tryLock(Request r) throws InterruptedException {
    long wait = r.number("wait", 0);
    long lease = r.number("lease", -1);
    RLock lock = of(r);
    boolean got = wait == 0 && lease == -1 ? lock.tryLock() : lock.tryLock(wait, lease, TimeUnit.MILLISECONDS);
    return Answer.of("got", got);
  }

  Answer unlock(Request r) {
    of(r).unlock();
    return new Answer();
  }

  Answer force(Request r) {
    return Answer.of("was", of(r).forceUnlock());
  }

  Answer state(Request r) {
    RLock lock = of(r);
    return Answer.of("locked", lock.isLocked())
        .and("ttl", lock.remainTimeToLive())
        .and("mine", lock.isHeldByCurrentThread())
        .and("count", lock.getHoldCount());
  }

  /** Takes a fenced lock and returns the token of this grant. */
  Answer lockForToken(Request r) {
    return Answer.of("token", fenced(r).lockAndGetToken());
  }

  /** The token of the last grant, to any holder. */
  Answer token(Request r) {
    return Answer.of("token", fenced(r).getToken());
  }

  /** Adds to a counter, in two steps that only the lock makes atomic. */
  Answer count(Request r) {
    RLock lock = of(r);
    RBucket<String> counter = clients.get(r.text("client")).getBucket(r.text("counter"), StringCodec.INSTANCE);
    for (long n = r.number("times"); n > 0; n--) {
      lock.lock();
      try {
        String value = counter.get();
        counter.set(Long.toString(value == null ? 1 : Long.parseLong(value) + 1));
      } finally {
        lock.unlock();
      }
    }
    return new Answer();
  }

  /** Reads a counter, each time twice under the lock, which must keep out writers; returns how many different values it saw. */
  Answer watch(Request r) throws InterruptedException {
    RLock lock = of(r);
    RBucket<String> counter = clients.get(r.text("client")).getBucket(r.text("counter"), StringCodec.INSTANCE);
    Set<String> values = new HashSet<>();
    for (long n = r.number("times"); n > 0; n--) {
      lock.lock();
      try {
        String before = counter.get();
        TimeUnit.MILLISECONDS.sleep(1);
        String after = counter.get();
        if (!Objects.equals(before, after)) {
          throw new IllegalStateException("another counter was inside: " + before + ", " + after);
        }
        values.add(after);
      } finally {
        lock.unlock();
      }
    }
    return Answer.of("values", values.size());
  }

  /** The number that Redisson appends to the client's id. */
  static Answer thread() {
    return Answer.of("number", Thread.currentThread().getId());
  }
}
