package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.cache.Id;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cache.support.ClaimStore.Claim;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.lookup.Explainer;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.s3.BucketTier;
import dev.granary.testing.Await;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tests of claims between machines, each with a directory of its own, over one bucket. */
class FleetClaimsTest {
    private final TestFleet fleet;

    FleetClaimsTest(@TempDir Path directory) throws Exception {
        this.fleet = new TestFleet(directory);
    }

    private static long count(Granary granary, Counter counter) {
        return granary.statistics().count(counter);
    }

    /** Opens a machine that has patience with a busy server. */
    private Granary open(String machine) throws ConfigException {
        return Granary.open(fleet.config(machine).bucketWait(TestNode.LONG).build());
    }

    @Test
    @DisplayName("Machines that need the same kernels at once compile each of them once")
    void once() throws Exception {
        int machines = 6;
        List<FakeDescriptor> kernels = TestFleet.kernels(4);
        List<Granary> opened = new CopyOnWriteArrayList<>();
        // the machines that claim go on when all others wait
        fleet.engine.beforeCompile = () -> Await.holds(() -> opened.stream()
                        .mapToLong(granary -> count(granary, Counter.FLEET_CLAIMS)
                                + count(granary, Counter.FLEET_WAITS))
                        .sum()
                == (long) machines * kernels.size());
        CountDownLatch start = new CountDownLatch(1);
        try (fleet;
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> ends = new ArrayList<>();
            for (int i = 0; i < machines; i++) {
                Granary granary = open("machine-" + i);
                opened.add(granary);
                for (FakeDescriptor kernel : kernels) {
                    Callable<?> lookup = () -> {
                        start.await();
                        return granary.primitive(fleet.engine, kernel);
                    };
                    ends.add(threads.submit(lookup));
                }
            }
            start.countDown();
            for (Future<?> end : ends) {
                end.get();
            }
            assertEquals(kernels.size(), fleet.engine.compiles.get());
            assertEquals(
                    (machines - 1L) * kernels.size(),
                    opened.stream()
                            .mapToLong(granary -> count(granary, Counter.FLEET_WAIT_HITS))
                            .sum());
        } finally {
            opened.forEach(Granary::close);
        }
    }

    @Test
    @DisplayName("The claim of a machine that ended is taken over after the time of a compile")
    void takenOver() throws Exception {
        FakeDescriptor kernel = FakeDescriptor.of("claimed");
        try (fleet;
                BucketTier bucket = fleet.bucket();
                Granary granary = open("machine")) {
            bucket.claims()
                    .claim(
                            kernel.getId(),
                            new Claim(
                                    "0123456789abcdef",
                                    Duration.ofMillis(100),
                                    Claim.State.COMPILING));
            assertEquals(
                    PrimitiveSource.COMPILED,
                    granary.lookup(fleet.engine, kernel).source());
            assertEquals(1, count(granary, Counter.FLEET_TAKEOVERS));
            assertEquals(1, count(granary, Counter.FLEET_WAIT_EXPIRED));
        }
    }

    @Test
    @DisplayName("An explanation shows the claim of another machine with its age, and takes none")
    void explained() throws Exception {
        Id id = FakeDescriptor.of("claimed").getId();
        Explainer.Request request = new Explainer.Request(
                id, id.target(), List.of(), Optional.empty(), Optional.empty());
        GranaryConfig config = fleet.config("machine").bucketWait(TestNode.LONG).build();
        try (fleet;
                BucketTier bucket = fleet.bucket()) {
            Claim claim =
                    new Claim("0123456789abcdef", Duration.ofSeconds(7), Claim.State.COMPILING);
            assertEquals(Optional.empty(), explain(config, request).claim());
            bucket.claims().claim(id, claim);
            fleet.requests();
            Explainer.FleetClaim seen = explain(config, request).claim().orElseThrow();
            assertEquals(claim, seen.taken().claim());
            assertTrue(seen.taken().age().isPresent());
            assertTrue(
                    fleet.requests().stream().allMatch(each -> each.startsWith("GET")),
                    "only reads");
        }
    }

    private static Explainer.Explanation explain(GranaryConfig config, Explainer.Request request)
            throws ConfigException {
        return Explainer.explain(config, SpirvCompiler.onPath(), InstantSource.system(), request);
    }

    @Test
    @DisplayName("Nobody waits for a machine whose compile has failed")
    void failed() throws Exception {
        FakeDescriptor wrong = FakeDescriptor.of("wrong");
        try (fleet;
                BucketTier bucket = fleet.bucket();
                Granary first = open("first");
                Granary second = open("second")) {
            assertThrows(CompileException.class, () -> first.primitive(fleet.engine, wrong));
            assertTrue(bucket.claims().read(wrong.getId()) instanceof ClaimStore.Result.Taken taken
                    && taken.claim().hasFailed());
            assertThrows(CompileException.class, () -> second.primitive(fleet.engine, wrong));
            assertEquals(2, fleet.engine.compiles.get());
        }
    }

    @Test
    @DisplayName("An entry that appears during a wait ends it")
    void appears() throws Exception {
        FakeDescriptor kernel = FakeDescriptor.of("slow");
        CountDownLatch mayProceed = new CountDownLatch(1);
        fleet.engine.beforeCompile = () -> pause(mayProceed);
        try (fleet;
                Granary first = open("first");
                Granary second = open("second");
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> compiling = threads.submit(() -> first.primitive(fleet.engine, kernel));
            Await.holds(() -> count(first, Counter.FLEET_CLAIMS) == 1);
            var waiting = threads.submit(() -> second.lookup(fleet.engine, kernel));
            Await.holds(() -> count(second, Counter.FLEET_WAITS) == 1);
            mayProceed.countDown();
            compiling.get();
            assertEquals(PrimitiveSource.BUCKET, waiting.get().source());
            assertTrue(waiting.get().waited().isPositive());
            assertTrue(waiting.get().waited().compareTo(waiting.get().took()) < 0);
            assertEquals(1, fleet.engine.compiles.get());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "no claim",
                "claim 1\n0123456789abcdef\n999999999\ncompiling\n",
                "claim 1\n0123456789abcdef\n99999999999999999999\ncompiling\n",
                "claim 1\n0123456789abcdef\n0\nfailed\n"
            })
    @DisplayName("A claim of any content delays a lookup by two waits at most, and it compiles")
    void hostile(String content) throws Exception {
        FakeDescriptor kernel = FakeDescriptor.of("hostile");
        fleet.put("c/" + kernel.getId().hash().hex(), content);
        GranaryConfig config =
                fleet.config("machine").claimWait(Duration.ofMillis(200)).build();
        try (fleet;
                Granary granary = Granary.open(config)) {
            assertEquals(
                    PrimitiveSource.COMPILED,
                    granary.lookup(fleet.engine, kernel).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, fleet.keys("/e/").size(), "it is published all the same");
        }
    }

    @Test
    @DisplayName("A machine that may only read, or does not want to wait, claims nothing")
    void off() throws Exception {
        try (fleet) {
            for (var config : List.of(
                    fleet.config("reader", TestFleet.BUCKET + "?access=read").build(),
                    fleet.config("hurried").claimWait(Duration.ZERO).build())) {
                try (Granary granary = Granary.open(config)) {
                    fleet.requests();
                    granary.lookup(fleet.engine, FakeDescriptor.of("a"));
                    assertTrue(fleet.requests().stream().noneMatch(each -> each.contains("claim")));
                }
            }
        }
    }

    private static void pause(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
