package lockwheel.interop;

import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Rounds of locking and unlocking, as bench/ runs them for the other libraries. */
final class Load {
  private final Clients clients;

  Load(Clients clients) {
    this.clients = clients;
  }

  /** Every worker has names of its own. A lock of several names, as a multi lock, has as many as "each" says. */
  Answer pair(Request r) throws Exception {
    RedissonClient client = clients.get(r.text("client"));
    Round round = new Round(false);
    int workers = (int) r.number("workers");
    int names = (int) r.number("names", workers);
    for (int i = 0; i < workers; i++) {
      int first = i;
      round.add(i + 1, IntStream.iterate(first, n -> n < names, n -> n + workers)
          .mapToObj(n -> Locks.lockOf(client, r.text("kind", "plain"), namesOf(r, n))).toArray(RLock[]::new));
    }
    long took = round.run(r.number("ms"));
    return Answer.of("pairs", round.pairs()).and("took", took);
  }

  private static String namesOf(Request r, int lock) {
    int each = (int) r.number("each", 1);
    return IntStream.range(lock * each, (lock + 1) * each).mapToObj(n -> r.text("name") + n).collect(Collectors.joining(","));
  }

  /** All workers of all clients want one name. */
  Answer hot(Request r) throws Exception {
    String[] names = r.text("client").split(",");
    int each = (int) r.number("workers");
    Round round = new Round(true);
    for (String name : names) {
      for (int i = 0; i < each; i++) {
        round.add(i + 1, clients.get(name).getLock(r.text("name")));
      }
    }
    long took = round.run(r.number("ms"));
    long pairs = round.pairs();
    long first = round.workers.subList(0, each).stream().mapToLong(w -> w.pairs).sum();
    long[] sorted = round.workers.stream().mapToLong(w -> w.pairs).sorted().toArray();
    return Answer.of("pairs", pairs)
        .and("took", took)
        .and("first", first)
        .and("fewest", sorted[0])
        .and("most", sorted[sorted.length - 1])
        .and("longest", round.workers.stream().mapToLong(w -> w.longest).max().orElse(0))
        .and("stalled", round.workers.stream().allMatch(w -> w.last < round.half))
        .and("overlaps", round.overlaps());
  }

  /** The given number of threads lock, hold for a moment and unlock, again and again. A wait that the end cuts off counts. */
  Answer turns(Request r) throws Exception {
    long ends = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(r.number("ms"));
    Turns[] all = new Turns[(int) r.number("workers")];
    for (int i = 0; i < all.length; i++) {
      all[i] = new Turns(Locks.lockOf(clients.get(r.text("client")), r.text("kind"), r.text("name")), r.number("hold"), ends);
      all[i].start();
    }
    long pairs = 0;
    long longest = 0;
    for (Turns one : all) {
      one.join();
      if (one.failure != null) {
        throw one.failure;
      }
      pairs += one.pairs;
      longest = Math.max(longest, one.longest);
    }
    return Answer.of("pairs", pairs).and("longest", longest);
  }

  /** One of these threads. */
  private static final class Turns extends Thread {
    private final RLock lock;
    private final long hold;
    private final long ends;
    private long pairs;
    private long longest; // wait, in nanoseconds
    private Exception failure;

    private Turns(RLock lock, long hold, long ends) {
      this.lock = lock;
      this.hold = hold;
      this.ends = ends;
    }

    @Override
    public void run() {
      try {
        for (long asked = System.nanoTime(); asked < ends; asked = System.nanoTime()) {
          boolean got = lock.tryLock(TimeUnit.NANOSECONDS.toMillis(ends - asked) + 1, -1, TimeUnit.MILLISECONDS);
          longest = Math.max(longest, System.nanoTime() - asked);
          if (!got) {
            return;
          }
          Thread.sleep(hold);
          lock.unlock();
          pairs++;
        }
      } catch (Exception e) {
        failure = e;
      }
    }
  }
}
