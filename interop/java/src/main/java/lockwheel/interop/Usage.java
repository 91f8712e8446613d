package lockwheel.interop;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** What this process has used so far. */
final class Usage {
  private Usage() {}

  /**
   * Processor time, with that of the compiler and the collector; what threads that are alive have allocated; how many they
   * are; and, if asked for, the heap after a collection.
   */
  static Answer read(Request r) {
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long allocated = 0;
    for (long bytes : threads.getThreadAllocatedBytes(threads.getAllThreadIds())) {
      allocated += Math.max(0, bytes);
    }
    Answer answer = Answer.of("cpu", system.getProcessCpuTime())
        .and("allocated", allocated)
        .and("threads", threads.getThreadCount());
    if (r.has("heap")) {
      System.gc();
      answer.and("heap", ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
    }
    return answer;
  }
}
