import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Two methods of 70 and 30 per cent, compiled while it runs: java Work ROUNDS. Prints their CPU time, and what
 * all threads used elsewhere: for the start, and to compile. */
public final class Work {
    static long hot70(int scale) {
        long value = scale;
        for (long i = 0; i < 70L * 40_000 * scale; i++) value = value * 6364136223846793005L + 1442695040888963407L;
        return value;
    }

    static long hot30(int scale) {
        long value = scale;
        for (long i = 0; i < 30L * 40_000 * scale; i++) value = value * 6364136223846793005L + 1442695040888963407L;
        return value;
    }

    public static void main(String[] arguments) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long sum = 0, start = threads.getCurrentThreadCpuTime();
        for (int round = 0; round < Integer.parseInt(arguments[0]); round++) sum += hot70(1 + round * 7 % 16) + hot30(1 + round * 7 % 16);
        long work = threads.getCurrentThreadCpuTime() - start;
        long all = ProcessHandle.current().info().totalCpuDuration().get().toNanos();
        if (sum == 1) System.out.println("never");
        System.out.println("hot70 " + work * 7 / 10 + "\nhot30 " + work * 3 / 10 + "\nelsewhere " + (all - work));
    }
}
