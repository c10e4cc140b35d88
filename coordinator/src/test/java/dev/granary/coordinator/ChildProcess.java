package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.InteractiveProcess;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/** A child process that uses a local directory, and usually ends abnormally. */
public final class ChildProcess {
    /** Restores the entry of {@code a}, during which the driver ends the process. */
    public static final String DIES_IN_RESTORE = "dies-in-restore";

    /** Compiles {@code a} with a bucket that hangs, prints its role, and waits to be killed. */
    public static final String WAITS_IN_UPLOAD = "waits-in-upload";

    /** Opens an instance beside others and prints the number of uploads that it took over. */
    static final String PRINTS_ADOPTED = "prints-adopted";

    /**
     * Obtains all {@link #SHARED} primitives in several threads, and prints whether each had the
     * binaries of its own name.
     */
    static final String GETS_SHARED = "gets-shared";

    /** The descriptors of {@link #GETS_SHARED}. */
    static final List<FakeDescriptor> SHARED = IntStream.range(0, 200)
            .mapToObj(i -> FakeDescriptor.of("shared " + i))
            .toList();

    private static final int THREADS = 4;

    private ChildProcess() {}

    /** Runs the role of the child. */
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals(GETS_SHARED)) {
            System.out.println(getShared(new TestNode(Path.of(arguments[1]), new FakeBucket())));
            return;
        }
        FakeBucket bucket = new FakeBucket();
        bucket.behavior = FakeBucket.Behavior.HANGS;
        FakeEngine engine = new FakeEngine("child");
        engine.restoreBehavior = FakeEngine.RestoreBehavior.DIES;
        Granary granary = new TestNode(Path.of(arguments[1]), bucket).open();
        if (arguments[0].equals(PRINTS_ADOPTED)) {
            System.out.println(granary.statistics().count(Counter.UPLOADS_INHERITED));
            return;
        }
        granary.primitive(engine, FakeDescriptor.of("a"));
        bucket.storeStarted.await();
        System.out.println(arguments[0]);
        Thread.currentThread().join();
    }

    /**
     * Obtains all primitives in each thread, in different orders, and compares their binaries with
     * their names.
     */
    private static boolean getShared(TestNode node) throws Exception {
        FakeEngine engine = new FakeEngine("shared");
        try (Granary granary = node.openWithoutBucket();
                ExecutorService pool = Executors.newFixedThreadPool(THREADS)) {
            granary.setPrimitiveCacheCapacity(0); // every lookup reads the disk
            List<Future<Boolean>> all = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                List<FakeDescriptor> order = new ArrayList<>(SHARED);
                Collections.rotate(order, thread * SHARED.size() / THREADS);
                all.add(pool.submit(() -> {
                    boolean isRight = true;
                    for (FakeDescriptor descriptor : order) {
                        isRight &= granary.primitive(engine, descriptor)
                                .getBinaries(BinaryKind.KERNEL)
                                .equals(FakeEngine.binaries(descriptor, "shared"));
                    }
                    return isRight;
                }));
            }
            boolean isRight = true;
            for (Future<Boolean> each : all) {
                isRight &= each.get();
            }
            return isRight
                    && granary.flush(TestNode.LONG)
                    && granary.statistics().count(Counter.STORES_DROPPED) == 0;
        }
    }

    /** Starts a child process. */
    public static InteractiveProcess start(String role, Path directory) throws IOException {
        return new InteractiveProcess(
                ChildJvm.of(ChildProcess.class).shortLived().start(role, directory.toString()));
    }
}
