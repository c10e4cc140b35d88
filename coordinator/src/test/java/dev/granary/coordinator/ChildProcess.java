package dev.granary.coordinator;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A process of its own that uses a local directory and ends badly. */
final class ChildProcess {
    /** Restores the entry of {@code a}, during which the driver ends the process. */
    static final String DIES_IN_RESTORE = "dies-in-restore";

    /** Compiles {@code a} against a bucket that hangs, says so, and waits to be killed. */
    static final String WAITS_IN_UPLOAD = "waits-in-upload";

    /** Opens a Granary beside others and tells how many uploads it took over. */
    static final String TELLS_ADOPTED = "tells-adopted";

    private ChildProcess() {}

    /** What the child does. */
    public static void main(String[] arguments) throws Exception {
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

    /** Starts a child in that role. */
    static Process start(String role, Path directory) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElseThrow(), "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
                ChildProcess.class.getName(), role, directory.toString()));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    /** Waits until the child says that. */
    static void awaitLine(Process child, String expected) throws IOException {
        try (BufferedReader out = new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
            String line = out.readLine();
            if (!expected.equals(line)) {
                throw new IOException("the child said: " + line);
            }
        }
    }
}
