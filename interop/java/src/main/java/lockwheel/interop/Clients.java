package lockwheel.interop;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseConfig;
import org.redisson.config.Config;
import org.redisson.config.NameMapper;
import org.redisson.config.SingleServerConfig;

/** The Redisson clients of this process, each with the name that the driver gave it. */
final class Clients {
  private final Map<String, RedissonClient> open = new ConcurrentHashMap<>();

  RedissonClient get(String name) {
    RedissonClient client = open.get(name);
    if (client == null) {
      throw new IllegalArgumentException("no client " + name);
    }
    return client;
  }

  /** Settings that are missing keep Redisson's defaults, except for idle connections. */
  Answer open(Request r) {
    Config config = new Config();
    if (r.has("watchdog")) {
      config.setLockWatchdogTimeout(r.number("watchdog"));
    }
    if (r.has("prefix")) {
      config.setNameMapper(new Prefix(r.text("prefix")));
    }
    int most = (int) r.number("connections", 64);
    int least = (int) Math.min(most, r.number("idle", 1));
    BaseConfig<?> server;
    if (r.text("mode", "single").equals("cluster")) {
      server = config.useClusterServers()
          .addNodeAddress(r.text("address").split(","))
          .setMasterConnectionPoolSize(most)
          .setMasterConnectionMinimumIdleSize(least)
          .setSlaveConnectionMinimumIdleSize(1);
    } else {
      server = config.useSingleServer()
          .setAddress(r.text("address"))
          .setConnectionPoolSize(most)
          .setConnectionMinimumIdleSize(least);
      if (r.has("channels")) { // half of the pub/sub connections have room for that many
        SingleServerConfig single = (SingleServerConfig) server;
        int each = (int) (2 * r.number("channels") / single.getSubscriptionConnectionPoolSize()) + 1;
        single.setSubscriptionsPerConnection(Math.max(each, single.getSubscriptionsPerConnection()));
      }
    }
    if (r.has("timeout")) {
      server.setTimeout((int) r.number("timeout"));
    }
    RedissonClient client = Redisson.create(config);
    open.put(r.text("client"), client);
    return Answer.of("id", client.getId());
  }

  /** Does not wait, because a client with a command in flight takes up to its timeout to end. */
  Answer close(Request r) {
    RedissonClient client = open.remove(r.text("client"));
    if (client != null) {
      new Thread(client::shutdown, "closing " + r.text("client")).start();
    }
    return new Answer();
  }

  /** The equivalent of lockwheel's Options.Prefix. */
  private record Prefix(String prefix) implements NameMapper {
    @Override
    public String map(String name) {
      return prefix + name;
    }

    @Override
    public String unmap(String name) {
      return name.substring(prefix.length());
    }
  }
}
