package lockwheel.interop;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The snippets of Java in docs/: compiled, and not run. */
final class Snippets {
    private Snippets() {}

    boolean sendReport(RedissonClient redisson) throws InterruptedException {
        RLock lock = redisson.getLock("report");
        if (!lock.tryLock(2, 10, TimeUnit.SECONDS)) {
            return false; // another process is at it
        }
        try {
            send();
        } finally {
            if (lock.isHeldByCurrentThread()) {
                lock.unlock();
            }
        }
        return true;
    }

    boolean settle(RedissonClient redisson, String account) throws InterruptedException {
        RLock lock = redisson.getLock("account/" + account);
        if (!lock.tryLock(5, TimeUnit.SECONDS)) {
            return false; // another program settles it
        }
        try {
            settle();
        } finally {
            if (lock.isHeldByCurrentThread()) {
                lock.unlock();
            }
        }
        return true;
    }

    private void send() {}

    private void settle() {}
}
