package dev.granary.s3.pack;

import static dev.granary.s3.contract.Fault.TIMEOUT;
import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.pack.compact.CompactionPlan;
import dev.granary.s3.pack.compact.PackCompactor;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.ManifestPlan;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ServerTimestamps;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A compaction whose commit cannot be relied on: the packs that the repaired manifest names. Two
 * packs become one here.
 */
class CompactionUndoTest {
    private static final Duration IN_TIME = Duration.ZERO;
    private static final Duration TOO_LATE = BucketRemover.LONGEST_COMMIT.plusHours(1);

    private final PackFixture bucket = new PackFixture("CompactionUndoTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("CompactionUndoTest");
    private final List<Entry> all =
            Stream.generate(() -> entries.entry(500)).limit(6).toList();
    private List<PackInfo> replaced = List.of();

    @BeforeEach
    void publish() {
        bucket.publish(bucket.pack(all.subList(0, 3)));
        bucket.publish(bucket.pack(all.subList(3, 6)));
        replaced = bucket.newest().packs();
    }

    /** Compacts, with a commit that comes too late, and runs an action just after it. */
    private PackCompactor.Result compact(
            PackManifest.UnpackedEntries unpackedEntries, Duration late, Runnable afterCommit) {
        AtomicBoolean once = new AtomicBoolean();
        PackCompactor compaction = bucket.compaction(new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                boolean isCommit = key.contains("/m/0") && once.compareAndSet(false, true);
                if (isCommit) {
                    store.pass(late);
                }
                WriteResult result = super.putIfAbsent(key, body, marks);
                if (isCommit) {
                    afterCommit.run();
                }
                return result;
            }
        });
        CompactionPlan plan = assertThat(compaction.plan(Duration.ofDays(1))).isReady();
        return compaction.run(plan, unpackedEntries, _ -> {});
    }

    private String failed(PackCompactor.Result result) {
        return assertThat(result).isFailed();
    }

    private void removeReplaced() {
        replaced.forEach(bucket::remove);
    }

    private PackInfo written() {
        return bucket.newest().packs().stream()
                .filter(pack -> !names(replaced).contains(pack.name()))
                .findFirst()
                .orElseThrow();
    }

    private static Set<Sha256> names(List<PackInfo> packs) {
        return packs.stream().map(PackInfo::name).collect(Collectors.toSet());
    }

    private void assertFound() {
        try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), reading.lost(all));
        }
    }

    /** Asserts that each pack is named once, exists, and is not to be removed. */
    private void assertNames(Set<Sha256> expected) {
        PackManifest newest = bucket.newest();
        assertEquals(expected, names(newest.packs()));
        assertEquals(expected.size(), newest.packs().size(), "each once");
        newest.packs()
                .forEach(pack -> assertTrue(
                        store.keys().contains(PackFixture.KEYS.pack(pack.name())),
                        "what is named is there"));
        assertTrue(newest.retired().stream().noneMatch(one -> expected.contains(one.name())));
    }

    @Test
    @DisplayName(
            "B9 late, and the replaced packs exist: both are named, none is to be removed, and the"
                    + " target is not sealed")
    void bothNamed() {
        bucket.seal();
        PackInfo[] written = new PackInfo[1];
        String cause = failed(
                compact(PackManifest.UnpackedEntries.NONE, TOO_LATE, () -> written[0] = written()));
        assertTrue(cause.contains("older than"), cause);
        Set<Sha256> both = new HashSet<>(names(replaced));
        both.add(written[0].name());
        assertNames(both);
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, bucket.newest().unpackedEntries());
        assertFound();
    }

    @Test
    @DisplayName(
            "B9 late, and another process has removed the replaced packs: only existing packs are"
                    + " named, without another commit")
    void replacedIsGone() {
        PackInfo[] written = new PackInfo[1];
        failed(compact(PackManifest.UnpackedEntries.POSSIBLE, TOO_LATE, () -> {
            written[0] = written();
            removeReplaced();
        }));
        assertNames(Set.of(written[0].name()));
        assertEquals(3, bucket.newest().number());
        assertFound();
    }

    @Test
    @DisplayName("B9 late, and the presence of the replaced packs is unknown: not named again")
    void replacedIsSilent() {
        PackInfo[] written = new PackInfo[1];
        failed(compact(PackManifest.UnpackedEntries.POSSIBLE, TOO_LATE, () -> {
            written[0] = written();
            store.plan(FaultPlan.when(
                    request -> replaced.stream()
                            .anyMatch(pack -> request.key().contains(pack.name().hex())),
                    new Fault.Lost(TIMEOUT)));
        }));
        store.plan(FaultPlan.SOUND);
        assertNames(Set.of(written[0].name()));
        assertFound();
    }

    @Test
    @DisplayName(
            "B9 late, and another process has named the replaced packs again: each is named once")
    void namedMeanwhile() {
        PackInfo[] written = new PackInfo[1];
        failed(compact(PackManifest.UnpackedEntries.POSSIBLE, TOO_LATE, () -> {
            written[0] = written();
            assertThat(bucket.log()
                            .commit(base ->
                                    ManifestPlan.commit(base.restoring(Set.of(), replaced))))
                    .isDone();
        }));
        Set<Sha256> both = new HashSet<>(names(replaced));
        both.add(written[0].name());
        assertNames(both);
    }

    @Test
    @DisplayName(
            "B9 its pack is gone: the replaced packs that exist are named instead, and no missing"
                    + " pack")
    void writtenIsGone() {
        String cause = failed(compact(
                PackManifest.UnpackedEntries.POSSIBLE, IN_TIME, () -> bucket.remove(written())));
        assertTrue(cause.contains("is gone"), cause);
        assertNames(names(replaced));
        assertFound();
    }

    @Test
    @DisplayName("B9 its pack and the replaced packs are gone: no missing pack is named")
    void allGone() {
        failed(compact(PackManifest.UnpackedEntries.POSSIBLE, IN_TIME, () -> {
            bucket.remove(written());
            removeReplaced();
        }));
        assertNames(Set.of());
    }

    @Test
    @DisplayName(
            "B9 all packs are gone, and another process has removed their names: no further commit")
    void allGoneAndForgotten() {
        failed(compact(PackManifest.UnpackedEntries.POSSIBLE, IN_TIME, () -> {
            PackInfo written = written();
            bucket.remove(written);
            removeReplaced();
            assertThat(bucket.log()
                            .commit(base -> ManifestPlan.commit(base.replacing(
                                    Set.of(written.name()), List.of(), base.unpackedEntries()))))
                    .isDone();
        }));
        assertEquals(4, bucket.newest().number());
    }

    @Test
    @DisplayName("B9 the presence of its pack is unknown, and the replaced packs are gone: its pack"
            + " stays named")
    void writtenIsSilent() {
        PackInfo[] written = new PackInfo[1];
        failed(compact(PackManifest.UnpackedEntries.POSSIBLE, IN_TIME, () -> {
            written[0] = written();
            removeReplaced();
            store.plan(FaultPlan.when(
                    request -> request.key().contains(written[0].name().hex()),
                    new Fault.Lost(TIMEOUT)));
        }));
        store.plan(FaultPlan.SOUND);
        assertNames(Set.of(written[0].name()));
        assertFound();
    }

    @Test
    @DisplayName(
            "B9 a pack was truncated since it was written: it counts as gone, before the commit"
                    + " and after it")
    void writtenIsCut() {
        String cause = failed(compact(PackManifest.UnpackedEntries.POSSIBLE, IN_TIME, () -> {
            String key = PackFixture.KEYS.pack(written().name());
            store.place(key, new byte[100], store.marks(key));
        }));
        assertTrue(cause.contains("is gone"), cause);
        assertNames(names(replaced));
        assertFound();
    }

    private long packObjects() {
        return store.keys().stream().filter(key -> key.endsWith(".pack")).count();
    }

    @Test
    @DisplayName("B9 its pack is gone before the commit: nothing is committed")
    void goneBeforeTheCommit() {
        AtomicBoolean once = new AtomicBoolean();
        PackCompactor compaction = bucket.compaction(new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                WriteResult result = super.putIfAbsent(key, body, marks);
                if (key.endsWith(".pack") && once.compareAndSet(false, true)) {
                    store.remove(key);
                }
                return result;
            }
        });
        CompactionPlan plan = assertThat(compaction.plan(Duration.ofDays(1))).isReady();
        failed(compaction.run(plan, PackManifest.UnpackedEntries.POSSIBLE, _ -> {}));
        assertEquals(2, bucket.newest().number());
        assertNames(names(replaced));
    }

    private PackCompactor.Result compactWithoutCommit(Fault fault) {
        store.plan(FaultPlan.when(
                request -> request.key().contains("/m/0") && request.operation().startsWith("PUT"),
                fault));
        PackCompactor.Result result =
                compact(PackManifest.UnpackedEntries.POSSIBLE, IN_TIME, () -> {});
        store.plan(FaultPlan.SOUND);
        return result;
    }

    @Test
    @DisplayName(
            "R13 the outcome of the commit is unknown: the new pack stays; refused: it is removed")
    void undecidedCommit() {
        failed(compactWithoutCommit(new Fault.Lost(Fault.DENIED)));
        assertEquals(2, packObjects());
        String cause = failed(compactWithoutCommit(new Fault.Lost(TIMEOUT)));
        assertTrue(cause.contains("is unknown"), cause);
        assertEquals(3, packObjects());
        assertFound();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName(
            "B9 late, and the replaced packs cannot be named again: the cause tells whether that is"
                    + " unknown or refused")
    void undoFails(boolean isRefused) {
        PackInfo[] written = new PackInfo[1];
        String cause = failed(compact(PackManifest.UnpackedEntries.POSSIBLE, TOO_LATE, () -> {
            written[0] = written();
            store.plan(FaultPlan.when(
                    request -> request.key().contains("/m/0")
                            && request.operation().startsWith("PUT"),
                    new Fault.Lost(isRefused ? Fault.DENIED : TIMEOUT)));
        }));
        store.plan(FaultPlan.SOUND);
        assertTrue(cause.contains("older than"), cause);
        assertTrue(
                cause.contains(
                        isRefused
                                ? "could not be repaired: 403 AccessDenied"
                                : "outcome of repairing the manifest is unknown: no answer"),
                cause);
        assertNames(Set.of(written[0].name()));
        assertFound();
    }

    @Test
    @DisplayName("B9 S9 late, and the server sends no time of manifests: still late")
    void manifestWithoutTime() {
        AtomicBoolean once = new AtomicBoolean();
        PackCompactor compaction = bucket.compaction(new ForwardingStore(store) {
            @Override
            public WriteResult putIfAbsent(String key, byte[] body, ObjectMarks marks) {
                if (key.contains("/m/0") && once.compareAndSet(false, true)) {
                    store.pass(TOO_LATE);
                }
                return super.putIfAbsent(key, body, marks);
            }

            @Override
            public HeadResult head(String key) {
                return super.head(key) instanceof HeadResult.Found found && key.contains("/m/")
                        ? new HeadResult.Found(
                                found.bytes(), found.etag(), ServerTimestamps.NONE, found.marks())
                        : super.head(key);
            }
        });
        CompactionPlan plan = assertThat(compaction.plan(Duration.ofDays(1))).isReady();
        String cause = failed(compaction.run(plan, PackManifest.UnpackedEntries.POSSIBLE, _ -> {}));
        assertTrue(cause.contains("older than"), cause);
    }

    @Test
    @DisplayName("B8 an entry is stored unpacked in a sealed target, after the plan: the compaction"
            + " removes the seal")
    void sealTakenBack() {
        bucket.compactAndSeal();
        assertEquals(PackManifest.UnpackedEntries.NONE, bucket.newest().unpackedEntries());
        Entry unpacked = entries.entry(100);
        PackCompactor.Result result = bucket.compactAndSeal(() -> bucket.placeUnpacked(unpacked));
        assertEquals(
                PackManifest.UnpackedEntries.POSSIBLE,
                assertThat(result).isDone().unpackedEntries());
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, bucket.newest().unpackedEntries());
        try (PackLookupDriver reading = new PackLookupDriver(bucket)) {
            assertEquals(List.of(), reading.lost(List.of(unpacked)));
        }
    }

    @Test
    @DisplayName("B8 unpacked entries cannot be listed: not sealed, and no intent is left")
    void unlistedIsNotSealed() {
        PackCompactor.Result result = bucket.compactAndSeal(() -> store.plan(FaultPlan.when(
                request -> request.operation().equals("LIST") && request.key().contains("/e/"),
                new Fault.Lost(TIMEOUT))));
        store.plan(FaultPlan.SOUND);
        assertEquals(
                PackManifest.UnpackedEntries.POSSIBLE,
                assertThat(result).isDone().unpackedEntries());
        assertEquals(PackManifest.UnpackedEntries.POSSIBLE, bucket.newest().unpackedEntries());
    }
}
