package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.CompileException;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.machine.Totals;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.GranaryStatistics;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.local.ClaimResult;
import dev.granary.local.ClaimResult.Mine;
import dev.granary.local.LocalClaims;
import dev.granary.testing.Await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;

/** Lookups that acquire, await and release the claim of their machine. */
@Timeout(600)
class ClaimedLookupTest {
    private static final FakeDescriptor A = FakeDescriptor.of("a");

    private final FakeBucket bucket = new FakeBucket();
    private final FakeEngine engine = new FakeEngine("one");
    private final TestNode node;
    private final LocalClaims other;

    ClaimedLookupTest(@TempDir Path directory) throws Exception {
        this.node = new TestNode(Files.createDirectory(directory.resolve("local")), bucket);
        this.other = LocalClaims.open(node.directory);
    }

    @AfterEach
    void close() {
        other.close();
    }

    private ClaimResult claimOfOther(FakeDescriptor descriptor) {
        ClaimResult result = other.claim(descriptor.getId());
        if (result instanceof Mine claim) {
            claim.close();
        }
        return result;
    }

    private void assertFree(FakeDescriptor descriptor) {
        assertInstanceOf(Mine.class, claimOfOther(descriptor));
    }

    @Test
    @DisplayName("the claim is held during the compile, and released when the entry is stored,"
            + " uploaded or not")
    void compiled() throws Exception {
        ClaimResult[] claims = new ClaimResult[1];
        engine.beforeCompile = () -> claims[0] = claimOfOther(A);
        bucket.behavior = FakeBucket.Behavior.HANGS;
        try (Granary granary = node.open("s3://test", Duration.ZERO)) {
            granary.primitive(engine, A);
            bucket.storeStarted.await();
            assertFree(A);
        }
        assertEquals(new ClaimResult.Taken(), claims[0]);
    }

    @Test
    @DisplayName("the claim is released if nothing is stored: no binaries, compile error, broken"
            + " engine or listener")
    void nothingToStore() throws Exception {
        try (Granary granary = node.open()) {
            FakeDescriptor wrong = FakeDescriptor.of("wrong");
            assertThrows(CompileException.class, () -> granary.primitive(engine, wrong));
            assertFree(wrong);

            FakeDescriptor withoutListener = FakeDescriptor.of("listener-breaks");
            granary.primitive(engine, withoutListener);
            assertFree(withoutListener);

            engine.binariesTime = FakeEngine.BinariesTime.NEVER;
            FakeDescriptor without = FakeDescriptor.of("without");
            granary.primitive(engine, without);
            assertTrue(granary.flush(TestNode.LONG));
            assertFree(without);

            engine.beforeCompile = () -> {
                throw new IllegalStateException("this engine has a bug");
            };
            assertThrows(IllegalStateException.class, () -> granary.primitive(engine, A));
            assertFree(A);
        }
    }

    @Test
    @DisplayName("an entry from the bucket is claimed until the local tier has it")
    void fromTheBucket() throws Exception {
        bucket.store(TestEntries.entry(A.getId(), FakeEngine.binaries(A, "elsewhere")));
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.BUCKET, granary.lookup(engine, A).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertFree(A);
        }
        assertEquals(1, bucket.loads.get());
    }

    @Test
    @DisplayName("the claim of a lazy driver awaits the launch, and is released by the launch, a"
            + " flush, or the end")
    void lazyDriver() throws Exception {
        ClaimResult awaiting = new ClaimResult.Taken();
        engine.binariesTime = FakeEngine.BinariesTime.AFTER_LAUNCH;
        FakeDescriptor b = FakeDescriptor.of("b");
        FakeDescriptor c = FakeDescriptor.of("c");
        try (Granary granary = node.openWithoutBucket()) {
            FakePrimitive launched = granary.primitive(engine, A);
            assertEquals(awaiting, claimOfOther(A));
            launched.launch();
            Await.holds(() -> claimOfOther(A) instanceof Mine);
            assertEquals(1, granary.statistics().count(Counter.LOCAL_STORED));
            granary.primitive(engine, b);
            assertTrue(granary.flush(TestNode.LONG));
            assertFree(b);
            FakeDescriptor unlaunched = FakeDescriptor.of("unlaunched");
            granary.primitive(engine, unlaunched);
            granary.setPrimitiveCacheCapacity(0);
            granary.primitive(engine, c);
            assertFree(unlaunched);
            granary.primitive(engine, c); // its own claim does not stop it
            assertEquals(awaiting, claimOfOther(c));
            assertEquals(0, granary.statistics().count(Counter.CLAIM_WAITS_GIVEN_UP));
        }
        assertFree(c);
    }

    @Test
    @DisplayName("a waiting lookup gets the entry of the other: one local hit, no miss, one"
            + " compile")
    void waits() throws Exception {
        CountDownLatch compiling = new CountDownLatch(1);
        CountDownLatch proceed = new CountDownLatch(1);
        engine.beforeCompile = () -> {
            compiling.countDown();
            Await.released(proceed);
        };
        try (Granary first = node.open();
                Granary second = node.open()) {
            FutureTask<PrimitiveSource> holder =
                    start(() -> first.lookup(engine, A).source()).task();
            compiling.await();
            Started waiter = start(() -> second.lookup(engine, A).source());
            Await.holds(() -> waiter.thread().getState() == Thread.State.TIMED_WAITING);
            proceed.countDown();
            assertEquals(PrimitiveSource.COMPILED, holder.get());
            assertEquals(PrimitiveSource.LOCAL, waiter.task().get());
            GranaryStatistics statistics = second.statistics();
            assertEquals(
                    List.of(1L, 1L, 0L),
                    List.of(
                            statistics.count(Counter.LOCAL_HITS),
                            statistics.count(Counter.LOCAL_LOOKUPS)
                                    - statistics.count(Counter.LOCAL_HITS),
                            statistics.layers().getFirst().count(Counter.LAYER_LOOKUPS)
                                    - statistics.layers().getFirst().count(Counter.LAYER_HITS)));
            assertEquals(
                    List.of(1L, 0L, 0L),
                    List.of(
                            statistics.count(Counter.CLAIM_HITS),
                            statistics.count(Counter.CLAIM_WAITS_GIVEN_UP),
                            statistics.count(Counter.CLAIMS_UNAVAILABLE)));
            assertEquals(
                    List.of(0L, 1L),
                    List.of(
                            first.statistics().count(Counter.CLAIM_HITS),
                            first.statistics().count(Counter.LOCAL_LOOKUPS)
                                    - first.statistics().count(Counter.LOCAL_HITS)));
        }
        assertEquals(1, engine.compiles.get());
        assertEquals(1, bucket.loads.get(), "the machine sent one request");
        assertEquals(1, new Totals(node.directory).read().get("claim-hits"));
    }

    private record Started(Thread thread, FutureTask<PrimitiveSource> task) {}

    private static Started start(Callable<PrimitiveSource> work) {
        FutureTask<PrimitiveSource> task = new FutureTask<>(work);
        Thread thread = new Thread(task, "lookup");
        thread.start();
        return new Started(thread, task);
    }

    @Test
    @DisplayName("at the end of its wait a lookup compiles, counts one local miss, and stores"
            + " without the claim")
    void deadline() throws Exception {
        node.claimWait = Duration.ofMillis(20);
        assertInstanceOf(Mine.class, other.claim(A.getId()));
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertTrue(granary.flush(TestNode.LONG));
            GranaryStatistics statistics = granary.statistics();
            assertEquals(
                    List.of(0L, 1L, 1L),
                    List.of(
                            statistics.count(Counter.LOCAL_HITS),
                            statistics.count(Counter.LOCAL_LOOKUPS)
                                    - statistics.count(Counter.LOCAL_HITS),
                            statistics.count(Counter.LOCAL_STORED)));
            assertEquals(
                    List.of(0L, 1L, 0L),
                    List.of(
                            statistics.count(Counter.CLAIM_HITS),
                            statistics.count(Counter.CLAIM_WAITS_GIVEN_UP),
                            statistics.count(Counter.CLAIMS_UNAVAILABLE)));
        }
        assertEquals(1, new Totals(node.directory).read().get("claim-waits-given-up"));
    }

    @Test
    @DisplayName("an entry that the driver rejects or that is in quarantine is not waited for")
    void unusableEntry() throws Exception {
        try (Granary granary = node.openWithoutBucket()) {
            granary.primitive(engine, A);
        }
        assertEquals(
                FakeEngine.DEATH,
                ChildProcess.start(ChildProcess.DIES_IN_RESTORE, node.directory).finish());
        assertInstanceOf(Mine.class, other.claim(A.getId()));
        try (Granary granary = node.openWithoutBucket()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertEquals(
                    List.of(1L, 0L),
                    List.of(
                            granary.statistics().count(Counter.RESTORES_QUARANTINED),
                            granary.statistics().count(Counter.CLAIM_WAITS_GIVEN_UP)));
        }
        node.now = node.now.plus(Duration.ofDays(2));
        FakeEngine updated = new FakeEngine("two");
        updated.restoreBehavior = FakeEngine.RestoreBehavior.REFUSES;
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(updated, A).source());
            assertEquals(
                    List.of(1L, 0L),
                    List.of(
                            granary.statistics().count(Counter.RESTORES_REFUSED),
                            granary.statistics().count(Counter.CLAIM_WAITS_GIVEN_UP)));
        }
    }

    @Test
    @DisplayName("A hit makes no claim; nor does a claim wait of zero")
    void untouched() throws Exception {
        node.claimWait = Duration.ZERO;
        try (Granary granary = node.openWithoutBucket()) {
            granary.primitive(engine, A);
        }
        node.claimWait = TestNode.LONG;
        try (Granary granary = node.openWithoutBucket()) {
            assertEquals(PrimitiveSource.LOCAL, granary.lookup(engine, A).source());
        }
        assertFalse(Files.exists(node.directory.resolve("claims")));
    }

    @Test
    @DisplayName("if claims fail, everything else works, and it is counted")
    void unavailable() throws Exception {
        Files.createDirectory(node.directory.resolve("claims"));
        try (Granary granary = node.open()) {
            assertEquals(PrimitiveSource.COMPILED, granary.lookup(engine, A).source());
            assertTrue(granary.flush(TestNode.LONG));
            assertEquals(1, granary.statistics().count(Counter.LOCAL_STORED));
            assertEquals(1, granary.statistics().count(Counter.CLAIMS_UNAVAILABLE));
        }
        assertEquals(1, new Totals(node.directory).read().get("claims-unavailable"));
    }
}
