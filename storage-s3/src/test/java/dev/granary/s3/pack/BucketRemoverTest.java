package dev.granary.s3.pack;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.format.Pack;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.format.UnpackedEntry;
import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Every check before a deletion, with one test each: docs/deletions.md has a row for each of them.
 */
class BucketRemoverTest {
    private static final Duration DAY = Duration.ofDays(1);

    private final PackFixture bucket = new PackFixture("BucketRemoverTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries made = new TestEntries("BucketRemoverTest");
    private final BucketRemover remover = new BucketRemover(store, PackFixture.KEYS, bucket.log());

    private Pack placed() {
        Pack pack = bucket.pack(made.entry(100));
        bucket.place(pack);
        return pack;
    }

    private boolean isThere(PackInfo pack) {
        return store.keys().contains(PackFixture.KEYS.pack(pack.name()));
    }

    private static BucketRemover.Orphan orphan(PackInfo pack) {
        return new BucketRemover.Orphan(pack.name(), Duration.ZERO);
    }

    private UnpackedEntry placeUnpacked(Entry entry) {
        bucket.placeUnpacked(entry);
        String key = PackFixture.unpackedKey(entry);
        HeadResult.Found found = (HeadResult.Found) store.head(key);
        return new UnpackedEntry(entry.id().hash(), key, found.bytes(), found.etag());
    }

    @Test
    @DisplayName(
            "own packs: one that the newest manifest names stays, and that is reported; the other"
                    + " one is removed")
    void own() {
        PackInfo unnamed = placed().info();
        assertEquals(BucketRemover.OwnPackState.NOT_NAMED, remover.removeOwn(List.of(unnamed)));
        assertFalse(isThere(unnamed));
        PackInfo named = bucket.publish(made.entry(100));
        PackInfo another = placed().info();
        assertEquals(BucketRemover.OwnPackState.NAMED, remover.removeOwn(List.of(named, another)));
        assertEquals(List.of(true, false), List.of(isThere(named), isThere(another)));
    }

    @Test
    @DisplayName("orphans: younger than six hours by the server's clock stays, whatever the grace"
            + " period; older than both is removed")
    void orphanAge() {
        PackInfo pack = placed().info();
        store.pass(BucketRemover.ORPHAN_AGE.minusSeconds(1));
        assertEquals(0, remover.removeUnused(List.of(orphan(pack)), List.of()));
        store.pass(Duration.ofSeconds(1));
        assertEquals(
                0,
                remover.removeUnused(
                        List.of(new BucketRemover.Orphan(pack.name(), DAY)), List.of()));
        assertTrue(isThere(pack));
        assertEquals(1, remover.removeUnused(List.of(orphan(pack)), List.of()));
        assertFalse(isThere(pack));
    }

    @Test
    @DisplayName("orphans: one that the newest manifest names, or lists as retired, stays")
    void orphanNamed() {
        PackInfo named = bucket.publish(made.entry(100));
        PackInfo retired = bucket.publish(made.entry(100));
        assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(base.replacing(
                                Set.of(retired.name()), List.of(), base.unpackedEntries()))))
                .isDone();
        store.pass(DAY);
        assertEquals(0, remover.removeUnused(List.of(orphan(named), orphan(retired)), List.of()));
        assertEquals(List.of(true, true), List.of(isThere(named), isThere(retired)));
    }

    @Test
    @DisplayName(
            "orphans: the manifest is read after the age was requested, so a commit in between is"
                    + " seen")
    void orphanOrder() {
        Pack pack = placed();
        store.pass(DAY);
        AtomicBoolean once = new AtomicBoolean();
        store.beforeEach(() -> {
            if (store.namedRequests().getLast().equals("HEAD pack")
                    && once.compareAndSet(false, true)) {
                bucket.commit(pack.info());
            }
        });
        assertEquals(0, remover.removeUnused(List.of(orphan(pack.info())), List.of()));
        assertTrue(isThere(pack.info()));
    }

    @Test
    @DisplayName(
            "retired packs: one that the newest manifest names, or does not list as retired since"
                    + " that number, stays")
    void retired() {
        PackInfo named = bucket.publish(made.entry(100));
        PackInfo retired = bucket.publish(made.entry(100));
        assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(base.replacing(
                                Set.of(retired.name()), List.of(), base.unpackedEntries()))))
                .isDone();
        assertEquals(
                0,
                remover.removeUnused(
                        List.of(),
                        List.of(
                                new PackManifest.Retired(named.name(), 3),
                                new PackManifest.Retired(retired.name(), 1))));
        assertEquals(List.of(true, true), List.of(isThere(named), isThere(retired)));
        PackManifest.Retired known = new PackManifest.Retired(retired.name(), 3);
        // it was restored, and is retired as well
        assertThat(bucket.log().commit(base -> ManifestPlan.commit(base.plus(retired))))
                .isDone();
        assertEquals(0, remover.removeUnused(List.of(), List.of(known)));
        assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(new PackManifest(
                                base.number() + 1,
                                base.unpackedEntries(),
                                List.of(named),
                                base.retired()))))
                .isDone();
        assertEquals(1, remover.removeUnused(List.of(), List.of(known)));
        assertEquals(List.of(), bucket.newest().retired());
        assertEquals(List.of(true, false), List.of(isThere(named), isThere(retired)));
    }

    @Test
    @DisplayName(
            "unpacked entries: the newest manifest must name the pack of the copy, or another one"
                    + " that has the entry")
    void copied() {
        Entry entry = made.entry(100);
        UnpackedEntry unpacked = placeUnpacked(entry);
        PackInfo copy = bucket.publish(entry, made.entry(10));
        assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(base.replacing(
                                Set.of(copy.name()), List.of(), base.unpackedEntries()))))
                .isDone();
        assertEquals(
                0, remover.removeCopied(List.of(new BucketRemover.VerifiedCopy(unpacked, copy))));
        PackInfo gone = bucket.publish(entry);
        bucket.remove(gone);
        bucket.publish(made.entry(10));
        assertEquals(
                0, remover.removeCopied(List.of(new BucketRemover.VerifiedCopy(unpacked, copy))));
        assertTrue(store.keys().contains(unpacked.key()));
        bucket.publish(entry);
        assertEquals(
                1, remover.removeCopied(List.of(new BucketRemover.VerifiedCopy(unpacked, copy))));
        assertFalse(store.keys().contains(unpacked.key()));
    }

    @Test
    @DisplayName(
            "unpacked entries: a version other than the listed one stays, also without conditional"
                    + " deletes")
    void version() {
        for (boolean isConditional : List.of(true, false)) {
            Entry entry = made.entry(100);
            UnpackedEntry unpacked = placeUnpacked(entry);
            PackInfo copy = bucket.publish(entry);
            bucket.placeUnpacked(entry); // another version
            store.plan(FaultPlan.when(
                    request -> !isConditional && request.operation().equals("DELETE match"),
                    new Fault.Lost(new StoreFailure(
                            StoreFailure.Kind.NOT_SUPPORTED, 501, "NotImplemented", "no"))));
            assertEquals(
                    0,
                    remover.removeCopied(List.of(new BucketRemover.VerifiedCopy(unpacked, copy))));
            assertTrue(store.keys().contains(unpacked.key()));
            UnpackedEntry now = placeUnpacked(entry);
            assertEquals(
                    1, remover.removeCopied(List.of(new BucketRemover.VerifiedCopy(now, copy))));
            store.plan(FaultPlan.SOUND);
        }
    }

    @Test
    @DisplayName("unpacked entries: each of several needs a copy of its own in a named pack")
    void copiedEach() {
        Entry first = made.entry(100);
        Entry second = made.entry(100);
        UnpackedEntry firstUnpacked = placeUnpacked(first);
        UnpackedEntry secondUnpacked = placeUnpacked(second);
        PackInfo copy = bucket.publish(first, second);
        assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(base.replacing(
                                Set.of(copy.name()), List.of(), base.unpackedEntries()))))
                .isDone();
        bucket.publish(first);
        assertEquals(
                1,
                remover.removeCopied(List.of(
                        new BucketRemover.VerifiedCopy(firstUnpacked, copy),
                        new BucketRemover.VerifiedCopy(secondUnpacked, copy))));
        assertEquals(
                List.of(false, true),
                List.of(
                        store.keys().contains(firstUnpacked.key()),
                        store.keys().contains(secondUnpacked.key())));
    }

    @Test
    @DisplayName(
            "retired packs: one that could not be removed is not counted, and is an orphan from"
                    + " then on")
    void notRemoved() {
        PackInfo pack = bucket.publish(made.entry(100));
        PackManifest retiring = assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(base.replacing(
                                Set.of(pack.name()), List.of(), base.unpackedEntries()))))
                .isDone();
        store.plan(FaultPlan.when(
                request -> request.operation().startsWith("DELETE"),
                new Fault.Lost(Fault.TIMEOUT)));
        assertEquals(0, remover.removeUnused(List.of(), retiring.retired()));
        store.plan(FaultPlan.SOUND);
        assertTrue(isThere(pack));
        store.pass(DAY);
        assertEquals(1, remover.removeUnused(List.of(orphan(pack)), retiring.retired()));
        assertFalse(isThere(pack));
    }

    @Test
    @DisplayName("B9 before packs are removed, a manifest takes the number that a suspended writer"
            + " would create")
    void numberTaken() {
        Pack unnamed = placed();
        PackInfo retired = bucket.publish(made.entry(100));
        PackManifest retiring = assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(base.replacing(
                                Set.of(retired.name()), List.of(), base.unpackedEntries()))))
                .isDone();
        store.pass(DAY);
        List<Long> newest = new ArrayList<>();
        store.beforeEach(() -> {
            if (store.namedRequests().getLast().startsWith("DELETE")) {
                newest.add(bucket.newest().number());
            }
        });
        assertEquals(2, remover.removeUnused(List.of(orphan(unnamed.info())), retiring.retired()));
        assertEquals(List.of(retiring.number() + 1, retiring.number() + 1), newest);
    }

    @Test
    @DisplayName("B9 another writer names an orphan just before that manifest: the pack stays, and"
            + " others are removed")
    void namedJustBefore() {
        Pack named = placed();
        PackInfo unnamed = placed().info();
        store.pass(DAY);
        AtomicBoolean once = new AtomicBoolean();
        BucketRemover late =
                new BucketRemover(store, PackFixture.KEYS, bucket.log(new ForwardingStore(store) {
                    @Override
                    public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                        if (key.contains("/m/0") && once.compareAndSet(false, true)) {
                            bucket.commit(named.info());
                        }
                        return super.putIfAbsent(key, body, marks);
                    }
                }));
        assertEquals(
                1, late.removeUnused(List.of(orphan(named.info()), orphan(unnamed)), List.of()));
        assertEquals(List.of(true, false), List.of(isThere(named.info()), isThere(unnamed)));
    }

    @Test
    @DisplayName("B9 the manifest before a removal cannot be created: nothing is removed")
    void notCommitted() {
        PackInfo unnamed = placed().info();
        PackInfo retired = bucket.publish(made.entry(100));
        PackManifest retiring = assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(base.replacing(
                                Set.of(retired.name()), List.of(), base.unpackedEntries()))))
                .isDone();
        store.pass(DAY);
        for (StoreFailure failure : List.of(Fault.DENIED, Fault.TIMEOUT)) {
            store.plan(FaultPlan.when(
                    request -> request.key().contains("/m/0")
                            && request.operation().startsWith("PUT"),
                    new Fault.Lost(failure)));
            assertEquals(0, remover.removeUnused(List.of(orphan(unnamed)), retiring.retired()));
            store.plan(FaultPlan.SOUND);
            assertEquals(List.of(true, true), List.of(isThere(unnamed), isThere(retired)));
        }
    }

    @Test
    @DisplayName("nothing is removed if the newest manifest is not returned, or is damaged in the"
            + " bucket")
    void noManifest() {
        Entry entry = made.entry(100);
        UnpackedEntry unpacked = placeUnpacked(entry);
        PackInfo copy = bucket.publish(entry);
        PackInfo unnamed = placed().info();
        PackInfo retired = bucket.publish(made.entry(100));
        assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(base.replacing(
                                Set.of(retired.name()), List.of(), base.unpackedEntries()))))
                .isDone();
        // so that the manifest before the newest one lists the retired pack, too
        bucket.publish(made.entry(10));
        store.pass(DAY);
        List<String> before = store.keys();
        List<Runnable> faults = new ArrayList<>();
        faults.add(() -> store.plan(FaultPlan.when(
                request -> request.key().contains("/m/"), new Fault.Lost(Fault.TIMEOUT))));
        faults.add(() -> store.place(
                PackFixture.KEYS.manifest(bucket.newest().number()),
                new byte[60],
                new ObjectMarks("00".repeat(16), "")));
        for (Runnable fault : faults) {
            fault.run();
            assertEquals(BucketRemover.OwnPackState.UNKNOWN, remover.removeOwn(List.of(unnamed)));
            assertEquals(0, remover.removeUnused(List.of(orphan(unnamed)), List.of()));
            assertEquals(
                    0,
                    remover.removeUnused(
                            List.of(), List.of(new PackManifest.Retired(retired.name(), 3))));
            assertEquals(
                    0,
                    remover.removeCopied(List.of(new BucketRemover.VerifiedCopy(unpacked, copy))));
            store.plan(FaultPlan.SOUND);
            assertEquals(before, store.keys());
        }
    }

    @Test
    @DisplayName("nothing is removed if the newest manifest is damaged after it was confirmed")
    void damagedMeanwhile() {
        PackInfo retired = bucket.publish(made.entry(100));
        PackManifest retiring = assertThat(bucket.log()
                        .commit(base -> ManifestPlan.commit(base.replacing(
                                Set.of(retired.name()), List.of(), base.unpackedEntries()))))
                .isDone();
        bucket.publish(made.entry(10));
        PackInfo unnamed = placed().info();
        store.pass(DAY);
        String newest = PackFixture.KEYS.manifest(bucket.newest().number());
        store.newRequests();
        store.beforeEach(() -> {
            // the second begins the commit
            if (store.namedRequests().stream().filter("GET newest"::equals).count() == 2) {
                store.place(newest, new byte[60], new ObjectMarks("00".repeat(16), ""));
            }
        });
        assertEquals(0, remover.removeUnused(List.of(orphan(unnamed)), retiring.retired()));
        store.beforeEach(() -> {});
        assertEquals(60, store.body(newest).length);
        assertEquals(List.of(true, true), List.of(isThere(retired), isThere(unnamed)));
    }

    @Test
    @DisplayName("no other class of this module deletes, except those that forward requests and the"
            + " probe")
    void onePlace() throws IOException {
        Pattern deletion =
                Pattern.compile("\\.(delete|deleteIfMatch|deleteObject|removeObject)\\(");
        Set<String> handOn = Set.of(
                "RequestPipelineStore.java",
                "AwsStore.java",
                "MinioStore.java",
                "AtomicBlobStore.java");
        Set<String> decide =
                Set.of("BucketRemover.java", "ProbeObjects.java", "CapabilityProbe.java");
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            List<String> all = files.filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> {
                        try {
                            return deletion.matcher(Files.readString(file, UTF_8))
                                    .find();
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    })
                    .map(file -> file.getFileName().toString())
                    .filter(name -> !handOn.contains(name))
                    .sorted()
                    .toList();
            assertEquals(decide.stream().sorted().toList(), all);
        }
    }
}
