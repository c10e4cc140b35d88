package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.support.FileTrees;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * Tests of interrupts of calling threads: at each step of a change, once in each call at a random
 * moment, and many in many threads. A longer run: {@code -Dgranary.interrupts.calls=N}.
 */
@Timeout(600)
final class InterruptsTest {
    private static final int CALLS = TestRuns.count(200);
    private static final int WORKERS = 6;
    private static final long CAPACITY = 3 << 20;
    private static final int IDS = 150;

    private final SplittableRandom random = TestSeed.random("InterruptsTest");

    @TempDir
    private Path temporary;

    private Path directory() {
        return temporary.resolve("cache");
    }

    private LocalTierConfig.Builder config() {
        return LocalTierConfig.builder(directory()).background(Runnable::run);
    }

    @ParameterizedTest
    @EnumSource(StoreStep.class)
    @DisplayName("an interrupt at a step: the call completes, the status is kept, nothing is left"
            + " behind")
    void atEachStep(StoreStep step) throws Exception {
        for (KillScenario.Work work : KillScenario.Work.values()) {
            if (KillScenario.all().contains(new KillScenario(work, step))) {
                at(step, work);
                FileTrees.delete(directory());
            }
        }
        assertEquals(List.of(), openFiles());
    }

    private void at(StoreStep step, KillScenario.Work work) throws Exception {
        LocalTierConfig config = config().capacityBytes(KillScenario.CAPACITY).build();
        try (LocalTier before = LocalTier.open(config)) {
            work.prepare(before);
        }
        boolean[] reached = {false};
        try (LocalTier tier = LocalTier.open(
                config,
                done -> {
                    if (done == step) {
                        reached[0] = true;
                        Thread.currentThread().interrupt();
                    }
                },
                bound -> bound - 1)) {
            String[] words = work.command().split(" ");
            switch (words[0]) {
                case "store" -> stored(tier.store(entry(words)));
                case "load" -> assertThat(tier.load(entry(words).id())).isDamaged();
                case "discard" -> tier.discard(entry(words));
                case "clear" -> tier.clear();
                case "capacity" -> tier.setCapacity(Long.parseLong(words[1]));
                default -> throw new AssertionError(work.command());
            }
            assertTrue(reached[0], work + " does not come to " + step);
            assertTrue(Thread.interrupted(), work + " lost the interrupt");
            assertEquals(0, tier.inputOutputErrors(), work.toString());
            Entry later = SharedEntries.entry("later", KillScenario.SIZE);
            stored(tier.store(later));
            assertThat(tier.load(later.id())).isHitOf(later);
        } finally {
            boolean _ = Thread.interrupted();
        }
        StoreInvariants.check(directory());
    }

    private static Entry entry(String[] words) {
        return SharedEntries.entry(words[1], Integer.parseInt(words[2]));
    }

    private static void stored(StoreResult result) {
        assertThat(result).isStored();
    }

    @Test
    @DisplayName("an interrupt at a random moment of each public call: each completes and keeps"
            + " the status, without side effects")
    void onceInEachCall() throws Exception {
        Caller caller = new Caller(random.split());
        try (Interrupter interrupter = new Interrupter(Thread.currentThread(), random.split())) {
            for (int i = 0; i < CALLS; i++) {
                interrupter.begin();
                caller.call();
                interrupter.awaitInterrupt();
                assertTrue(Thread.interrupted(), "an interrupt was lost");
            }
        }
        caller.close();
        assertEquals(0, caller.failures);
        works();
    }

    @Test
    @DisplayName("continuous interrupts of all threads that use one directory: afterwards the"
            + " same process stores, sweeps and claims")
    void storm() throws Exception {
        // keeps the files open: they are opened once
        LocalTier witness = LocalTier.open(config().capacityBytes(CAPACITY).build());
        AtomicBoolean over = new AtomicBoolean();
        ConcurrentLinkedQueue<Throwable> thrown = new ConcurrentLinkedQueue<>();
        List<Thread> workers = new ArrayList<>();
        for (int i = 0; i < WORKERS; i++) {
            SplittableRandom own = random.split();
            workers.add(Thread.ofPlatform().unstarted(() -> {
                try (Caller caller = new Caller(own)) {
                    for (int call = 0; call < CALLS / WORKERS; call++) {
                        caller.call();
                    }
                } catch (Throwable e) {
                    thrown.add(e);
                }
            }));
        }
        Thread interrupter = Thread.ofPlatform().start(() -> {
            for (int i = 0; !over.get(); i++) {
                workers.get(i % WORKERS).interrupt();
                LockSupport.parkNanos(1);
            }
        });
        workers.forEach(Thread::start);
        for (Thread worker : workers) {
            worker.join();
        }
        over.set(true);
        interrupter.join();
        for (Throwable e : thrown) {
            throw new AssertionError(e);
        }
        Entry entry = SharedEntries.entry("witness", 1000);
        stored(witness.store(entry));
        assertThat(witness.load(entry.id())).isHitOf(entry);
        witness.clear();
        assertEquals(0, witness.usage().entries());
        assertTrue(witness.enforceCapacity());
        witness.close();
        works();
    }

    /**
     * Checks that everything works in this process and in another, and that nothing of the
     * interrupts is left.
     */
    private void works() throws Exception {
        try (LocalTier tier = LocalTier.open(config().capacityBytes(CAPACITY).build());
                LocalClaims claims = LocalClaims.open(directory());
                InteractiveProcess other = TierProcess.start(directory(), CAPACITY)) {
            tier.clear();
            assertEquals(0, tier.usage().entries());
            for (int i = 0; i < 20; i++) {
                Entry entry = SharedEntries.entry("after" + i, 100 * i);
                stored(tier.store(entry));
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
            assertEquals("Stored", other.request("store there 100"));
            assertEquals("Hit", other.request("load after3 300"));
            try (ClaimResult.Mine _ =
                    assertInstanceOf(ClaimResult.Mine.class, claims.claim(TestEntries.id("0")))) {
                assertEquals(new ClaimResult.Taken(), claims.claim(TestEntries.id("0")));
            }
        }
        StoreInvariants.check(directory());
        assertEquals(List.of(), openFiles());
        assertEquals(List.of(), locks());
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith("granary-local")) {
                thread.join(); // the test's timeout reveals one that stays
            }
        }
    }

    /** Calls every operation of a tier and its claims, in a random order. */
    private final class Caller implements AutoCloseable {
        private final SplittableRandom random;
        private @Nullable LocalTier tier;
        private @Nullable LocalClaims claims;
        private final List<ClaimResult.Mine> held = new ArrayList<>();
        private long failures;

        Caller(SplittableRandom random) {
            this.random = random;
        }

        private Entry entry() {
            int number = random.nextInt(IDS);
            // at times other content replaces the usual one
            int variant = random.nextInt(8) == 0 ? 1 : 0;
            return TestEntries.entry(
                    TestEntries.id(Integer.toString(number)),
                    SharedEntries.entry(number + "-" + variant, 100 + number * number * 2)
                            .binaries());
        }

        void call() throws Exception {
            if (tier == null) {
                tier = LocalTier.open(config().capacityBytes(CAPACITY).build());
                return;
            }
            if (claims == null) {
                claims = LocalClaims.open(directory());
                return;
            }
            Entry entry = entry();
            switch (random.nextInt(40)) {
                case 0 -> tier.clear();
                case 1 -> {
                    boolean _ = tier.enforceCapacity();
                }
                case 2 -> tier.setCapacity(CAPACITY - random.nextInt(1 << 20));
                case 3 -> assertNotNull(tier.usage());
                case 4 -> list(tier);
                case 5 -> assertTrue(tier.capacityBytes() <= CAPACITY);
                case 6 -> tier.discard(entry);
                case 7 -> assertTrue(tier.inputOutputErrors() >= 0);
                case 8, 9 -> {
                    closeTier();
                }
                case 10, 11 -> {
                    closeClaims();
                }
                case 12, 13, 14, 15 -> claim(claims, entry);
                case 16, 17, 18 -> {
                    if (!held.isEmpty()) {
                        held.removeLast().close();
                    }
                }
                case 19, 20 ->
                    Stream.of(entry(), entry(), entry()).map(tier::store).forEach(this::check);
                case 21, 22, 23, 24, 25, 26, 27, 28, 29, 30 -> check(tier.store(entry));
                default -> check(entry, tier.load(entry.id()));
            }
        }

        private void list(LocalTier open) throws IOException {
            List<EntryCatalog.Listed> listed = new ArrayList<>();
            open.list(listed::add);
            if (!listed.isEmpty()) {
                EntryCatalog.Listed any = listed.get(random.nextInt(listed.size()));
                try (Arena memory = Arena.ofConfined()) {
                    assertThat(open.read(any, memory)).isNoneOf(LoadResult.Unavailable.class);
                }
                boolean _ = EntryFiles.in(open.directory()).remove(any);
            }
        }

        private void claim(LocalClaims open, Entry entry) {
            switch (open.claim(entry.id())) {
                case ClaimResult.Mine mine -> held.add(mine);
                case ClaimResult.Taken _ -> {}
                case ClaimResult.Unavailable bad -> throw new AssertionError(bad.reason());
            }
        }

        private void check(StoreResult result) {
            switch (result) {
                case StoreResult.Stored _, StoreResult.Duplicate _ -> {}
                default -> throw new AssertionError(result.toString());
            }
        }

        private void check(Entry entry, LoadResult result) {
            switch (result) {
                case LoadResult.Hit hit -> assertEquals(entry.id(), hit.entry().id());
                case LoadResult.Absent _ -> {}
                default -> throw new AssertionError(result.toString());
            }
        }

        private void closeTier() {
            if (tier != null) {
                failures += tier.inputOutputErrors();
                tier.close();
                tier = null;
            }
        }

        private void closeClaims() {
            if (claims != null) {
                claims.close();
                claims = null;
                held.clear();
            }
        }

        @Override
        public void close() {
            closeClaims();
            closeTier();
        }
    }

    /** Interrupter of one thread: once per request, after some nanoseconds up to 0.5 ms. */
    private static final class Interrupter implements AutoCloseable {
        private final Thread thread;
        private volatile long wanted;
        private volatile long done;

        Interrupter(Thread victim, SplittableRandom random) {
            thread = Thread.ofPlatform().start(() -> {
                for (long next = 1; ; next++) {
                    while (wanted < next && wanted >= 0) {
                        Thread.onSpinWait();
                    }
                    if (wanted < 0) {
                        return;
                    }
                    long until = System.nanoTime() + (1L << random.nextInt(20));
                    while (System.nanoTime() < until) {
                        Thread.onSpinWait();
                    }
                    victim.interrupt();
                    done = next;
                }
            });
        }

        void begin() {
            wanted = done + 1;
        }

        void awaitInterrupt() {
            while (done < wanted) {
                Thread.onSpinWait();
            }
        }

        @Override
        public void close() {
            wanted = -1; // its last interrupt came before this
            while (thread.isAlive()) {
                Thread.onSpinWait();
            }
        }
    }

    /** Returns the files of the directory that this process has open. */
    private List<String> openFiles() throws IOException {
        List<String> open = new ArrayList<>();
        Path descriptors = Path.of("/proc/self/fd");
        if (Files.isDirectory(descriptors)) {
            try (Stream<Path> all = Files.list(descriptors)) {
                for (Path each : all.toList()) {
                    try {
                        String target = Files.readSymbolicLink(each).toString();
                        if (target.startsWith(temporary.toRealPath().toString())) {
                            open.add(target);
                        }
                    } catch (IOException e) {
                        // the descriptor used for this listing
                    }
                }
            }
        }
        return open;
    }

    /** Returns the locks on the files of sweeps and claims. */
    private List<String> locks() throws IOException {
        Path locks = Path.of("/proc/locks");
        assumeTrue(Files.exists(locks), "this system does not list locks");
        List<String> found = new ArrayList<>();
        for (Path file : List.of(directory().resolve("sweep"), directory().resolve("claims"))) {
            Object inode = Files.getAttribute(file, "unix:ino");
            Files.readAllLines(locks).stream()
                    .filter(line -> line.contains(":" + inode + " "))
                    .forEach(found::add);
        }
        return found;
    }
}
