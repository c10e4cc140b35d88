package dev.granary.s3.pack.compact;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.ForwardingStore;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.pack.RecordingObjectStore;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.RegisterException;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Deletion of packs and bases in two runs: nothing that a head names is ever deleted. */
class PackRemoverTest {
    private static final Duration GRACE = Duration.ofDays(1);
    private static final Duration MOMENT = Duration.ofMillis(1);
    private static final String HEAD = PackFixture.KEYS.head();

    private final PackFixture bucket = new PackFixture("PackRemoverTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("PackRemoverTest");

    private List<Entry> entries(int count) {
        return Stream.generate(() -> entries.entry(100)).limit(count).toList();
    }

    private PackRemover.Removal run() throws CompactionException {
        PackRemover.Removal planned = bucket.remover().plan(GRACE);
        PackRemover.Removal done = bucket.remover().run(GRACE);
        assertEquals(planned.removed(), done.removed() + done.unremoved());
        assertNamedExist();
        return done;
    }

    private void assertNamedExist() {
        for (PackInfo pack : bucket.packs()) {
            assertTrue(store.keys().contains(PackFixture.KEYS.pack(pack.name())));
        }
        bucket.head()
                .retired()
                .forEach(one -> assertTrue(store.keys().stream()
                        .anyMatch(key -> key.contains(one.name().toString()))));
    }

    private void assertFound(List<Entry> all) {
        all.forEach(entry -> assertTrue(bucket.isFound(entry)));
    }

    private PackInfo orphan() throws RegisterException {
        return bucket.place(
                bucket.pack(entries(1)), bucket.register().readOrCreate().head().generation());
    }

    private long objects(String folder) {
        return store.keys().stream().filter(key -> key.contains(folder)).count();
    }

    @Test
    @DisplayName("packs and bases that left are deleted by the second run, a grace after the first"
            + " by the server's clock, and not earlier")
    void twoRuns() throws CompactionException {
        List<Entry> all = entries(6);
        bucket.publish(bucket.pack(all.subList(0, 2)));
        bucket.publish(bucket.pack(all.subList(2, 4)));
        bucket.compact();
        bucket.publish(bucket.pack(all.subList(4, 6)));
        bucket.compact(); // its merge leaves a base, two packs and the first merged pack
        assertEquals(List.of(4L + 1, 2L), List.of(objects("/p/"), objects("/m/")));
        PackRemover.Removal first = run();
        assertEquals(List.of(0L, 4L + 1), List.of(first.removed(), first.waiting()));
        store.pass(GRACE.minus(MOMENT));
        assertEquals(0, run().removed());
        assertEquals(List.of(4L + 1, 2L), List.of(objects("/p/"), objects("/m/")));
        store.pass(MOMENT);
        PackRemover.Removal second = run();
        assertEquals(List.of(4L + 1, 0L), List.of(second.removed(), second.unremoved()));
        assertEquals(List.of(1L, 1L), List.of(objects("/p/"), objects("/m/")));
        assertEquals(List.of(), bucket.head().retired());
        assertFound(all);
        assertEquals(0, run().waiting());
    }

    @Test
    @DisplayName("what was written after the first run survives the second, named or not")
    void laterObjects() throws CompactionException, RegisterException {
        List<Entry> all = entries(2);
        PackInfo early = orphan();
        bucket.publish(bucket.pack(all.subList(0, 1)));
        assertEquals(0, run().removed());
        PackInfo late = orphan();
        bucket.publish(bucket.pack(all.subList(1, 2)));
        store.pass(GRACE);
        assertEquals(1, run().removed());
        assertFalse(store.keys().contains(PackFixture.KEYS.pack(early.name())));
        assertTrue(store.keys().contains(PackFixture.KEYS.pack(late.name())));
        store.pass(GRACE);
        assertEquals(1, run().removed());
        assertFound(all);
    }

    @Test
    @DisplayName("an empty target costs one request; objects of unknown names are never touched;"
            + " a plan changes nothing")
    void untouched() throws CompactionException, RegisterException {
        assertEquals(new PackRemover.Removal(0, 0, 0), bucket.remover().run(GRACE));
        assertEquals(List.of("GET head"), store.newRequests());
        String strange = PackFixture.KEYS.packPrefix() + "notes.txt";
        store.place(strange, new byte[1]);
        orphan();
        bucket.publish(bucket.pack(entries(1)));
        run();
        store.pass(GRACE);
        List<String> before = store.keys();
        String nonce = bucket.head().nonce();
        assertEquals(1, bucket.remover().plan(GRACE).removed());
        assertEquals(before, store.keys());
        assertEquals(nonce, bucket.head().nonce());
        assertEquals(1, run().removed());
        assertTrue(store.keys().contains(strange));
    }

    @Test
    @DisplayName("refused deletions are counted and tried again with the next boundary; without a"
            + " listing nothing is deleted")
    void refused() throws CompactionException, RegisterException {
        bucket.publish(bucket.pack(entries(1)));
        orphan();
        bucket.publish(bucket.pack(entries(1)));
        run();
        store.pass(GRACE);
        store.plan(FaultPlan.when(
                request -> request.operation().equals("DELETE"), new Fault.Lost(Fault.DENIED)));
        assertEquals(1, run().unremoved());
        store.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(Fault.DENIED)));
        store.pass(GRACE);
        assertTrue(
                assertThrows(CompactionException.class, () -> bucket.remover().run(GRACE))
                        .toString()
                        .contains("cannot be listed"));
        store.plan(FaultPlan.SOUND);
        assertEquals(3, bucket.packObjects());
        store.pass(GRACE);
        assertEquals(1, run().removed());
    }

    @Test
    @DisplayName("a base that is missing or damaged hides packs: nothing is deleted")
    void lostBase() throws CompactionException, RegisterException {
        List<Entry> all = entries(4);
        bucket.publish(bucket.pack(all.subList(0, 2)));
        bucket.publish(bucket.pack(all.subList(2, 4)));
        bucket.compact();
        ObjectName base = bucket.head().base().orElseThrow();
        run();
        store.pass(GRACE);
        byte[] sound = store.body(PackFixture.KEYS.base(base));
        for (byte[] other : List.of(new byte[0], new byte[sound.length])) {
            store.place(PackFixture.KEYS.base(base), other);
            assertStops();
        }
        store.remove(PackFixture.KEYS.base(base));
        assertStops();
        assertEquals(3, bucket.packObjects());
        store.place(PackFixture.KEYS.base(base), sound);
        assertEquals(2, run().removed());
        assertFound(all);
    }

    private void assertStops() {
        assertTrue(
                assertThrows(CompactionException.class, () -> bucket.remover().run(GRACE))
                        .toString()
                        .contains("compact --adopt"));
        assertThrows(CompactionException.class, () -> bucket.remover().plan(GRACE));
    }

    @Test
    @DisplayName("the packs of a head that was removed stay for a grace after the next head, so"
            + " that they can be adopted")
    void formerPacks() throws CompactionException {
        List<Entry> former = entries(2);
        bucket.publish(bucket.pack(former));
        run();
        store.remove(HEAD);
        store.pass(GRACE.multipliedBy(7));
        List<Entry> all = entries(2);
        bucket.publish(bucket.pack(all));
        assertEquals(0, run().removed());
        store.pass(GRACE.minus(MOMENT));
        assertEquals(0, run().removed());
        assertEquals(1, bucket.adopter().run());
        assertFound(former);
        store.pass(GRACE);
        assertEquals(1, run().removed());
        assertFound(former);
        assertFound(all);
    }

    @Test
    @DisplayName("the head is removed while a due run swaps it: it makes a new one, and deletes"
            + " nothing")
    void headRemovedMeanwhile() throws CompactionException, RegisterException {
        List<Entry> former = entries(2);
        bucket.publish(bucket.pack(former));
        orphan();
        run();
        store.pass(GRACE);
        PackRemover remover = bucket.remover(new ForwardingStore(store) {
            @Override
            public WriteResult replaceIfMatch(String key, String etag, byte[] body) {
                if (!bucket.head().recent().isEmpty()) {
                    store.remove(HEAD);
                }
                return super.replaceIfMatch(key, etag, body);
            }
        });
        assertEquals(0, remover.run(GRACE).removed());
        assertEquals(2, bucket.packObjects());
        assertEquals(2, bucket.adopter().run());
        assertFound(former);
    }

    @Test
    @DisplayName("the server drops the head with the new boundary, which it reports as written:"
            + " nothing is deleted")
    void droppedHead() throws CompactionException, RegisterException {
        List<Entry> all = entries(4);
        bucket.publish(bucket.pack(all.subList(0, 2)));
        bucket.publish(bucket.pack(all.subList(2, 4)));
        orphan();
        bucket.compact();
        run();
        store.pass(GRACE);
        PackRemover dropping = bucket.remover(bucket.dropping(HEAD));
        assertEquals(new PackRemover.Removal(0, 0, 3), dropping.run(GRACE));
        assertNamedExist();
        assertEquals(3, run().removed());
        assertFound(all);
    }

    /** Returns a remover before whose first deletion an event occurs. */
    private PackRemover suspended(Runnable event) {
        return bucket.remover(new ForwardingStore(store) {
            private boolean isOver;

            @Override
            public WriteResult delete(String key) {
                if (!isOver) {
                    isOver = true;
                    event.run();
                }
                assertTrue(bucket.packs().stream()
                        .noneMatch(pack -> PackFixture.KEYS.pack(pack.name()).equals(key)));
                return super.delete(key);
            }
        });
    }

    @Test
    @DisplayName("a remover is suspended for a month before its deletions: what was published,"
            + " folded and merged meanwhile stays, and so does what others made after the head was"
            + " removed")
    void suspended() throws CompactionException, RegisterException {
        for (boolean isHeadRemoved : List.of(false, true)) {
            List<Entry> all = new ArrayList<>(entries(4));
            bucket.publish(bucket.pack(all.subList(0, 2)));
            bucket.publish(bucket.pack(all.subList(2, 4)));
            orphan();
            orphan();
            bucket.compact();
            store.pass(GRACE);
            run();
            store.pass(GRACE);
            boolean[] isReached = {false};
            PackRemover remover = suspended(() -> {
                isReached[0] = true;
                store.pass(Duration.ofDays(30));
                if (isHeadRemoved) {
                    store.remove(HEAD);
                }
                List<Entry> more = entries(3);
                all.addAll(more);
                more.forEach(bucket::publish);
                try {
                    if (isHeadRemoved) {
                        bucket.adopter().run();
                    }
                    bucket.compact();
                    run();
                    store.pass(GRACE);
                    run();
                } catch (CompactionException e) {
                    throw new AssertionError(e);
                }
            });
            assertTrue(remover.run(GRACE).removed() > 0);
            assertTrue(isReached[0]);
            assertNamedExist();
            assertFound(all);
        }
    }

    /** A gateway whose clock is ahead; the dates of objects are those of the server behind it. */
    private ObjectStore ahead(Duration skew) {
        return new ForwardingStore(store) {
            @Override
            public GetResult get(String key, long limit) {
                return super.get(key, limit) instanceof GetResult.Found found
                        ? new GetResult.Found(
                                found.bytes(),
                                found.etag(),
                                new ServerTimestamps(
                                        found.dates().lastModifiedMillis(),
                                        found.dates().nowMillis() + skew.toMillis()))
                        : super.get(key, limit);
            }
        };
    }

    @Test
    @DisplayName("the remover's clock is 25 hours ahead: its second run comes a day early, and"
            + " the pack that a publisher has just written stays")
    void clocks() throws CompactionException, RegisterException {
        List<Entry> all = entries(2);
        PackInfo orphan = orphan();
        bucket.publish(bucket.pack(all.subList(0, 1)));
        run();
        PackRemover ahead = bucket.remover(ahead(Duration.ofHours(25)));
        List<PackRemover.Removal> early = new ArrayList<>();
        PackFixture.publish(
                bucket.publisher(new ForwardingStore(store) {
                    @Override
                    public WriteResult putIfAbsent(String key, byte[] body) {
                        WriteResult result = super.putIfAbsent(key, body);
                        try {
                            early.add(ahead.run(GRACE));
                            run();
                            early.add(ahead.run(GRACE));
                        } catch (CompactionException e) {
                            throw new AssertionError(e);
                        }
                        return result;
                    }
                }),
                all.subList(1, 2));
        assertEquals(
                List.of(1L, 0L),
                early.stream().map(PackRemover.Removal::removed).toList());
        assertFalse(store.keys().contains(PackFixture.KEYS.pack(orphan.name())));
        assertNamedExist();
        assertFound(all);
    }

    @Test
    @DisplayName("without the server's date no boundary is noted and nothing is deleted")
    void noDate() throws CompactionException, RegisterException {
        bucket.publish(bucket.pack(entries(1)));
        orphan();
        Head before = bucket.head();
        long now = store.head(HEAD) instanceof HeadResult.Found found
                ? found.dates().nowMillis()
                : 0;
        PackRemover dateless = bucket.remover(ahead(Duration.ofMillis(-now)));
        assertEquals(new PackRemover.Removal(0, 0, 1), dateless.run(Duration.ZERO));
        assertEquals(before.nonce(), bucket.head().nonce());
    }

    @Test
    @DisplayName("no other class of this module deletes, except those that forward requests, the"
            + " compaction and collection, and probe, doctor, notes and pins their own objects")
    void onePlace() throws IOException {
        Pattern deletion =
                Pattern.compile("\\.(delete|deleteIfMatch|deleteObject|removeObject)\\(");
        Set<String> forwarding = Set.of(
                "RequestPipelineStore.java",
                "AwsStore.java",
                "MinioStore.java",
                "AtomicBlobStore.java");
        List<String> deciding = List.of(
                "BucketCollector.java",
                "BucketDiagnostics.java",
                "BucketPins.java",
                "CapabilityProbe.java",
                "PackCompactor.java",
                "PackRemover.java",
                "ProbeObjects.java",
                "UseNotes.java");
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            List<Path> all = files.filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> !forwarding.contains(file.getFileName().toString()))
                    .toList();
            List<String> found = new ArrayList<>();
            for (Path file : all) {
                if (deletion.matcher(Files.readString(file)).find()) {
                    found.add(file.getFileName().toString());
                }
            }
            found.sort(Comparator.naturalOrder());
            assertEquals(deciding, found);
        }
    }
}
