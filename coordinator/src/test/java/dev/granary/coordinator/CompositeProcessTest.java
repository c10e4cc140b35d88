package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.contract.StoredEntry;
import dev.granary.gpu.DriverProcess;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tests of composite primitives in processes of their own, with a real driver and a real server.
 */
@NeedsPocl
class CompositeProcessTest {
    private static final int PROGRAMS = 5;

    @TempDir
    private Path directory = Path.of("");

    private ChildJvm process(TestFleet fleet, String machine) throws IOException {
        return DriverProcess.of(
                        CompositeProcess.class,
                        Files.createTempDirectory(directory, "working-directory-"))
                .withoutVariables("GRANARY_", "AWS_")
                .variables(Map.of(
                        "XDG_CONFIG_HOME",
                        "/nonexistent",
                        "GRANARY_DIR",
                        directory.resolve(machine).toString(),
                        "GRANARY_BUCKET",
                        "s3://kernels/ci",
                        // hits are expected, however busy the machine is
                        "GRANARY_BUCKET_WAIT",
                        "1m",
                        "GRANARY_S3_ENDPOINT",
                        fleet.endpoint(),
                        "AWS_ACCESS_KEY_ID",
                        fleet.server.accessKey(),
                        "AWS_SECRET_ACCESS_KEY",
                        fleet.server.secretKey(),
                        "AWS_REGION",
                        "us-east-1"));
    }

    /** Runs a process to its end and returns compiled programs, local hits and bucket hits. */
    private List<Integer> run(TestFleet fleet, String machine) throws Exception {
        String output = process(fleet, machine).run().output();
        return Arrays.stream(DriverProcess.value(output, "counts").split(" "))
                .map(Integer::valueOf)
                .toList();
    }

    @Test
    @Tag("exhaustive") // by default CompositeLookupTest, without a driver
    @DisplayName("a process creates composite primitives, and another with an empty directory"
            + " compiles nothing")
    void otherMachine() throws Exception {
        try (TestFleet fleet = new TestFleet(directory.resolve("server"))) {
            assertEquals(List.of(PROGRAMS, 0, 0), run(fleet, "ci"));
            assertEquals(List.of(0, 0, PROGRAMS), run(fleet, "node"));
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("damaged parts come from the bucket again, and only those")
    void damagedParts() throws Exception {
        try (TestFleet fleet = new TestFleet(directory.resolve("server"))) {
            assertEquals(List.of(PROGRAMS, 0, 0), run(fleet, "node"));
            List<StoredEntry> stored = StoredEntry.in(directory.resolve("node"));
            assertEquals(PROGRAMS, stored.size());
            byte[] flipped = stored.get(0).bytes();
            flipped[flipped.length / 2] ^= 1;
            stored.get(0).overwrite(flipped);
            byte[] truncated = stored.get(1).bytes();
            stored.get(1).overwrite(Arrays.copyOf(truncated, truncated.length / 2));
            assertEquals(
                    List.of(0, PROGRAMS - 2, 2),
                    run(fleet, "node"),
                    "the bucket replaces damaged local entries");
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("after kill -9 at an upload of its parts, a process on the same machine and"
            + " one on another get right results, and nothing stored is compiled again")
    void killedWhileStoring() throws Exception {
        killedAtUpload(2);
    }

    @Test
    @DisplayName("after kill -9 at the first or the last upload of its parts the same holds")
    @Tag("exhaustive")
    void killedAtFirstAndLast() throws Exception {
        killedAtUpload(0);
        killedAtUpload(PROGRAMS - 1);
    }

    /** Kills a process when the server gets an upload, after that many complete ones. */
    private void killedAtUpload(int complete) throws Exception {
        String name = "at upload " + complete;
        try (TestFleet fleet = new TestFleet(directory.resolve(name))) {
            CompletableFuture<Process> victim = new CompletableFuture<>();
            AtomicInteger uploads = new AtomicInteger();
            fleet.proxy.plan(FaultPlan.when(
                    request -> {
                        boolean isDeadly = request.operation().startsWith("PUT")
                                && request.key().contains("/e/")
                                && uploads.getAndIncrement() == complete;
                        if (isDeadly) {
                            victim.join().destroyForcibly();
                        }
                        return isDeadly;
                    },
                    new Fault.Lost(Fault.RESET)));
            ChildJvm.Recording killed = process(fleet, name).record();
            victim.complete(killed.process());
            assertNotEquals(0, killed.end().exitCode());
            assertTrue(uploads.get() > complete);
            fleet.proxy.plan(FaultPlan.always(new Fault.None()));
            List<Integer> next = run(fleet, name);
            assertEquals(PROGRAMS, next.stream().mapToInt(count -> count).sum());
            assertTrue(next.get(1) > complete, () -> "an upload follows a store: " + next);
            assertEquals(
                    List.of(0, 0, PROGRAMS),
                    run(fleet, "other machine " + complete),
                    "the next process completed the uploads");
        }
    }
}
