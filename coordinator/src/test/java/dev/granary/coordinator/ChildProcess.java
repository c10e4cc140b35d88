package dev.granary.coordinator;

import dev.granary.cache.BinaryKind;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/** A process of its own that uses a local directory, and mostly ends badly. */
public final class ChildProcess {
    /** Restores the entry of {@code a}, during which the driver ends the process. */
    static final String DIES_IN_RESTORE = "dies-in-restore";

    /** Compiles {@code a} against a bucket that hangs, says so, and waits to be killed. */
    public static final String WAITS_IN_UPLOAD = "waits-in-upload";

    /** Opens a Granary beside others and tells how many uploads it took over. */
    static final String TELLS_ADOPTED = "tells-adopted";

    /** Gets the primitives of all {@link #SHARED} in several threads and tells whether each had the binaries of its own name. */
    static final String GETS_SHARED = "gets-shared";

    /** What {@link #GETS_SHARED} gets. */
    static final List<FakeDescriptor> SHARED = IntStream.range(0, 200).mapToObj(i -> FakeDescriptor.of("shared " + i)).toList();

    private static final int THREADS = 4;

    private ChildProcess() {}

    /** What the child does. */
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals(GETS_SHARED)) {
            System.out.println(getShared(new TestNode(Path.of(arguments[1]), new FakeBucket())));
            return;
        }
        FakeBucket bucket = new FakeBucket();
        bucket.mood = FakeBucket.Mood.HANGS;
        FakeEngine engine = new FakeEngine("child");
        engine.restoring = FakeEngine.Restores.DIES;
        Granary granary = new TestNode(Path.of(arguments[1]), bucket).open();
        if (arguments[0].equals(TELLS_ADOPTED)) {
            System.out.println(granary.statistics().adopted());
            return;
        }
        granary.primitive(engine, FakeDescriptor.of("a"));
        bucket.storing.await();
        System.out.println(arguments[0]);
        Thread.currentThread().join();
    }

    /** Every thread gets all of them, each in another order; the binaries tell which kernel they are of. */
    private static boolean getShared(TestNode node) throws Exception {
        FakeEngine engine = new FakeEngine("shared");
        try (Granary granary = node.openWithoutBucket(); ExecutorService pool = Executors.newFixedThreadPool(THREADS)) {
            granary.setPrimitiveCacheCapacity(0); // every look-up goes to the disk
            List<Future<Boolean>> all = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                List<FakeDescriptor> order = new ArrayList<>(SHARED);
                Collections.rotate(order, thread * SHARED.size() / THREADS);
                all.add(pool.submit(() -> {
                    boolean isRight = true;
                    for (FakeDescriptor descriptor : order) {
                        isRight &= granary.primitive(engine, descriptor).getBinaries(BinaryKind.KERNEL)
                                .equals(FakeEngine.binaries(descriptor, "shared"));
                    }
                    return isRight;
                }));
            }
            boolean isRight = true;
            for (Future<Boolean> one : all) {
                isRight &= one.get();
            }
            return isRight && granary.flush(TestNode.LONG) && granary.statistics().dropped() == 0;
        }
    }

    /** Starts a child in that role. */
    public static Process start(String role, Path directory) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(), "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
                ChildProcess.class.getName(), role, directory.toString()));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    /** Waits until the child says that. */
    public static void awaitLine(Process child, String expected) throws IOException {
        try (BufferedReader out = new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
            String line = out.readLine();
            if (!expected.equals(line)) {
                throw new IOException("the child said: " + line);
            }
        }
    }
}
