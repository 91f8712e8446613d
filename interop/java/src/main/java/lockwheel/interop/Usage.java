package lockwheel.interop;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** The resources that this process has used so far. */
final class Usage {
  private Usage() {}

  /**
   * Processor time, including the compiler's and the collector's; the bytes that live threads have allocated; their
   * number; and, if requested, the heap after a collection.
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
