package lockwheel.interop;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Runs commands with Redisson, one per line of standard input, and replies to each with a line when it is done:
 *
 * <pre>
 *   1 open client=a&amp;address=redis://127.0.0.1:6379    →  1 ok id=6f0e6a4e-…
 *   2 lock client=a&amp;owner=x&amp;kind=plain&amp;name=n         →  2 ok
 *   3 unlock client=a&amp;owner=y&amp;kind=plain&amp;name=n       →  3 failed error=IllegalMonitorStateException&amp;message=…
 * </pre>
 *
 * Values are encoded as in a URL. An owner is a thread of this process, made when it is first named: what one owner does
 * is done in order, and owners do not wait for each other. The process ends with its standard input.
 */
public final class Peer {
  private static final PrintStream OUT =
      new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

  private final Clients clients = new Clients();
  private final Locks locks = new Locks(clients);
  private final Load load = new Load(clients);
  private final Stock stock = new Stock(clients);
  private final Flood flood = new Flood(clients);
  private final Map<String, ExecutorService> owners = new ConcurrentHashMap<>();

  /** Serves commands until standard input ends. */
  public static void main(String[] args) throws IOException {
    System.setOut(System.err); // only replies go to standard output
    new Peer().serve();
    Runtime.getRuntime().halt(0); // locks that are held stay until their leases end
  }

  private void serve() throws IOException {
    OUT.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      Request request = new Request(line);
      owners.computeIfAbsent(request.text("owner", "main"), Peer::threadOf).execute(() -> answer(request));
    }
  }

  private static ExecutorService threadOf(String owner) {
    return Executors.newSingleThreadExecutor(work -> new Thread(work, "owner " + owner));
  }

  private void answer(Request request) {
    String line;
    try {
      line = request.id + " ok " + run(request);
    } catch (Throwable failure) {
      line = request.id + " failed "
          + Answer.of("error", failure.getClass().getSimpleName()).and("message", failure.getMessage());
    }
    OUT.println(line);
  }

  private Answer run(Request r) throws Exception {
    return switch (r.command) {
      case "open" -> clients.open(r);
      case "close" -> clients.close(r);
      case "lock" -> locks.lock(r);
      case "tryLock" -> locks.tryLock(r);
      case "unlock" -> locks.unlock(r);
      case "force" -> locks.force(r);
      case "state" -> locks.state(r);
      case "lockForToken" -> locks.lockForToken(r);
      case "token" -> locks.token(r);
      case "count" -> locks.count(r);
      case "watch" -> locks.watch(r);
      case "thread" -> Locks.thread();
      case "pair" -> load.pair(r);
      case "hot" -> load.hot(r);
      case "turns" -> load.turns(r);
      case "take" -> stock.take(r);
      case "lost" -> stock.lost(r);
      case "giveBack" -> stock.giveBack(r);
      case "flood" -> flood.step(r);
      case "usage" -> Usage.read(r);
      default -> throw new IllegalArgumentException("no command " + r.command);
    };
  }
}
