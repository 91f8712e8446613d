package lockwheel.interop;

import java.util.stream.IntStream;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Rounds of locking and unlocking, as bench/ has them for the other contestants. */
final class Load {
  private final Clients clients;

  Load(Clients clients) {
    this.clients = clients;
  }

  /** Every worker has a name of its own. */
  Answer pair(Request r) throws Exception {
    RedissonClient client = clients.get(r.text("client"));
    Round round = new Round();
    int workers = (int) r.number("workers");
    int names = (int) r.number("names", workers);
    for (int i = 0; i < workers; i++) {
      int first = i;
      round.add(i + 1, IntStream.iterate(first, n -> n < names, n -> n + workers)
          .mapToObj(n -> client.getLock(r.text("name") + n)).toArray(RLock[]::new));
    }
    long took = round.run(r.number("ms"));
    return Answer.of("pairs", round.pairs()).and("took", took);
  }

  /** All workers of all clients want one name. */
  Answer hot(Request r) throws Exception {
    String[] names = r.text("client").split(",");
    int each = (int) r.number("workers");
    Round round = new Round();
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
}
