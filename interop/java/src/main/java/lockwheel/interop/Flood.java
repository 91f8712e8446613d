package lockwheel.interop;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.redisson.api.RFuture;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Very many waiters for locks with another holder, and one thread that locks and unlocks a free name again and again. */
final class Flood {
  private static final long PROBES_END_MS = 10_000;

  private final Clients clients;
  private final List<RFuture<Void>> waiting = new ArrayList<>();
  private final AtomicInteger ended = new AtomicInteger();
  private final AtomicInteger failures = new AtomicInteger();
  private volatile Throwable failed;
  private volatile Probes probes;

  Flood(Clients clients) {
    this.clients = clients;
  }

  Answer step(Request r) throws Exception {
    switch (r.text("step")) {
      case "begin" -> begin(r);
      case "post" -> post(r);
      case "cancel" -> waiting.forEach(one -> one.cancel(true));
      case "probes" -> {
        probes.end();
        return Answer.of("took", probes.of((int) r.number("phase")))
            .and("refused", probes.refused.getOrDefault((int) r.number("phase"), new AtomicInteger()));
      }
      case "ended" -> {
        return Answer.of("ended", ended.get()).and("failures", failures.get()).and("failed", failed == null ? "" : failed);
      }
      case "footprint" -> {
        return Answer.of("threads", ManagementFactory.getThreadMXBean().getThreadCount()).and("rss", resident());
      }
      case "end" -> end();
      default -> throw new IllegalArgumentException("no step " + r.text("step"));
    }
    return new Answer();
  }

  private void begin(Request r) {
    if (probes == null) {
      probes = new Probes(clients.get(r.text("client")), r.text("probe"), TimeUnit.MICROSECONDS.toNanos(r.number("every")));
      probes.start();
    }
    probes.phase = (int) r.number("phase");
  }

  private void post(Request r) {
    RedissonClient client = clients.get(r.text("client"));
    long names = r.number("names");
    for (long i = 0; i < r.number("waiters"); i++) {
      RFuture<Void> one = client.getLock(r.text("name") + i % names).lockAsync(i + 1);
      one.whenComplete((locked, failure) -> ended(failure));
      waiting.add(one);
    }
  }

  private void ended(Throwable failure) {
    if (!(failure instanceof CancellationException)) {
      failures.incrementAndGet();
      failed = failure == null ? new IllegalStateException("a lock with another holder was granted") : failure;
    }
    ended.incrementAndGet();
  }

  private void end() throws InterruptedException {
    if (probes != null) {
      probes.end();
      probes = null;
    }
    waiting.forEach(one -> one.cancel(true));
    waiting.clear();
    ended.set(0);
    failures.set(0);
    failed = null;
    System.gc();
  }

  /** The resident memory of this process, in bytes; 0 where the system does not report it. */
  private static long resident() {
    try {
      return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096;
    } catch (IOException notLinux) {
      return 0;
    }
  }

  /** Begins each pair when it is due, even if earlier ones are still in flight. */
  private static final class Probes extends Thread {
    private final RedissonClient client;
    private final String name;
    private final long every; // nanoseconds
    private final Map<Integer, Queue<Long>> took = new ConcurrentHashMap<>();
    private final Map<Integer, AtomicInteger> refused = new ConcurrentHashMap<>();
    private final AtomicInteger under = new AtomicInteger();
    private volatile boolean over;
    private volatile int phase;

    private Probes(RedissonClient client, String name, long every) {
      super("probes");
      this.client = client;
      this.name = name;
      this.every = every;
      setDaemon(true);
    }

    @Override
    public void run() {
      long due = System.nanoTime();
      for (long i = 1; !over; i++, due += every) {
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        probe(client.getLock(name + i), i, due, phase);
      }
    }

    private void probe(RLock lock, long owner, long due, int phase) {
      Queue<Long> to = took.computeIfAbsent(phase, any -> new ConcurrentLinkedQueue<>());
      under.incrementAndGet();
      lock.lockAsync(owner).thenCompose(locked -> lock.unlockAsync(owner)).whenComplete((unlocked, failure) -> {
        to.add(System.nanoTime() - due);
        if (failure != null) {
          refused.computeIfAbsent(phase, any -> new AtomicInteger()).incrementAndGet();
        }
        under.decrementAndGet();
      });
    }

    /** Waits for the pairs in flight. */
    private void end() throws InterruptedException {
      over = true;
      join(PROBES_END_MS);
      for (int i = 0; i < PROBES_END_MS / 10 && under.get() > 0; i++) {
        Thread.sleep(10);
      }
    }

    private String of(int phase) {
      StringBuilder words = new StringBuilder();
      took.getOrDefault(phase, new ConcurrentLinkedQueue<>()).forEach(one -> words.append(one).append(' '));
      return words.toString();
    }
  }
}
