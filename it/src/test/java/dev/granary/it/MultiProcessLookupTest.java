package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.it.LookupProcess.Result;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * Tests of several processes on one machine that look up the same kernels at once, with a real
 * driver.
 */
@ExtendWith(WithDevice.class)
@Timeout(600)
class MultiProcessLookupTest {
    private static final int KERNELS = 2;
    private static final int PROCESSES = 8;

    @TempDir
    private Path directory = Path.of("");

    @Test
    @Tag("exhaustive") // by default killedHolder
    @DisplayName("eight processes look up the same kernels at once: each kernel is compiled once,"
            + " all results are right")
    void compiledOnce() throws Exception {
        List<Result> results = atOnce(on("machine", Map.of()));
        assertEquals(KERNELS, sum(results, Result::compiled), results::toString);
        assertEquals((PROCESSES - 1) * KERNELS, sum(results, Result::local), results::toString);
        assertUnharmed(KERNELS, results);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("eight processes look up the same kernels of the bucket at once: one GET per"
            + " kernel from the machine, and at most one for packs from each process")
    void fetchedOnce() throws Exception {
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("counted");
            Map<String, String> online = Map.of(
                    "GRANARY_BUCKET", "s3://counted/kernels",
                    "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                    "AWS_ACCESS_KEY_ID", server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                    "AWS_REGION", "us-east-1");
            try (LookupProcess ci = LookupProcess.start(on("ci", online), KERNELS)) {
                ci.await(LookupProcess.READY);
                ci.proceed();
                assertEquals(KERNELS, ci.result().compiled());
            }
            server.resetRequests();
            List<Result> results = atOnce(on("machine", online));
            long packRequests = server.requests().get() - KERNELS;
            assertTrue(
                    packRequests >= 1 && packRequests <= PROCESSES,
                    packRequests + " requests for packs; " + results);
            assertEquals(1, server.requests().put(), "the note of use of the machine");
            assertEquals(server.requests().get() + 1, server.requests().total(), results::toString);
            assertEquals(0, sum(results, Result::compiled), results::toString);
            assertEquals(KERNELS, sum(results, Result::bucket), results::toString);
            assertEquals((PROCESSES - 1) * KERNELS, sum(results, Result::local), results::toString);
            assertUnharmed(KERNELS, results);
        }
    }

    @Test
    @DisplayName(
            "the compiling process is killed: another compiles, and the others get its" + " entry")
    void killedHolder() throws Exception {
        Map<String, String> machine = on("machine", Map.of());
        try (LookupProcess holder = holder(machine);
                LookupProcess first = LookupProcess.start(machine, 1, LookupProcess.WAITING);
                LookupProcess second = LookupProcess.start(machine, 1, LookupProcess.WAITING)) {
            for (LookupProcess waiter : List.of(first, second)) {
                waiter.await(LookupProcess.READY);
                waiter.proceed();
                waiter.await(LookupProcess.WAITING);
            }
            holder.kill();
            List<Result> results = List.of(first.result(), second.result());
            assertEquals(1, sum(results, Result::compiled), results::toString);
            assertEquals(1, sum(results, Result::waited), results::toString);
            assertUnharmed(1, results);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the compiling process is suspended: the others continue at their deadline")
    void suspendedHolder() throws Exception {
        Map<String, String> machine = on("machine", Map.of("GRANARY_CLAIM_WAIT", "200ms"));
        try (LookupProcess holder = holder(machine);
                LookupProcess waiter = LookupProcess.start(machine, 1)) {
            holder.signal("STOP");
            waiter.await(LookupProcess.READY);
            waiter.proceed();
            assertEquals(new Result(1, 0, 0, 0, 1, 0, 1), waiter.result());
            holder.signal("CONT");
            holder.proceed();
            assertEquals(
                    new Result(1, 0, 0, 0, 0, 0, 1), holder.result(), "it finishes its compile");
        }
    }

    /** Returns a process that has begun to compile the first kernel. */
    private static LookupProcess holder(Map<String, String> machine) throws Exception {
        LookupProcess holder = LookupProcess.start(machine, 1, LookupProcess.COMPILING);
        holder.await(LookupProcess.READY);
        holder.proceed();
        holder.await(LookupProcess.COMPILING);
        return holder;
    }

    /** Starts all processes, and lets them continue when all are ready. */
    private static List<Result> atOnce(Map<String, String> machine) throws Exception {
        List<LookupProcess> all = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES; i++) {
                all.add(LookupProcess.start(machine, KERNELS));
            }
            for (LookupProcess one : all) {
                one.await(LookupProcess.READY);
            }
            for (LookupProcess one : all) {
                one.proceed();
            }
            List<Result> results = new ArrayList<>();
            for (LookupProcess one : all) {
                results.add(one.result());
            }
            return results;
        } finally {
            for (LookupProcess one : all) {
                one.close();
            }
        }
    }

    private static void assertUnharmed(int kernels, List<Result> results) {
        assertTrue(results.stream().allMatch(one -> one.right() == kernels), results::toString);
        assertEquals(0, sum(results, Result::waitsGivenUp), results::toString);
        assertEquals(0, sum(results, Result::claimsUnavailable), results::toString);
    }

    private static long sum(List<Result> results, ToLongFunction<Result> count) {
        return results.stream().mapToLong(count).sum();
    }

    private Map<String, String> on(String machine, Map<String, String> stores) {
        Map<String, String> variables = new HashMap<>(stores);
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        return variables;
    }
}
