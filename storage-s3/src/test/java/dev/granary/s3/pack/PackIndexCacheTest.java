package dev.granary.s3.pack;

import static dev.granary.testing.BucketAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.pack.format.Pack;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackInfo;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.stream.Stream;

/**
 * Manifests and indexes that another process has cached on disk: the requests that they save, and
 * that no file there can make a lookup wrong.
 */
class PackIndexCacheTest {
    private final PackFixture bucket = new PackFixture("PackIndexCacheTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("PackIndexCacheTest");
    private final Entry one = entries.entry(100);
    private final Entry two = entries.entry(100);
    private final Queue<Runnable> background = new ArrayDeque<>();
    private long nanos = 1_000_000_000_000L;

    @TempDir
    private Path directory;

    /** Looks up ids as a new process; the store records the requests. */
    private PackAnswer load(Entry entry) {
        store.newRequests();
        return process().load(entry.id(), store);
    }

    private PackReader process() {
        RefreshSchedule schedule = new RefreshSchedule(
                Duration.ofMinutes(1),
                Duration.ofSeconds(30),
                () -> nanos,
                System::currentTimeMillis,
                bucket.random());
        return new PackReader(
                store, bucket.settings(Optional.of(directory)), schedule, background::add);
    }

    private void assertHit(Entry entry) {
        PackAnswer answer = load(entry);
        assertEquals(entry.binaries(), assertThat(answer).isFinal().isHit().binaries());
    }

    private Path manifest() {
        return directory.resolve(PackFixture.NAMESPACE).resolve("manifest");
    }

    private Path index(PackInfo pack) {
        return directory.resolve(PackFixture.NAMESPACE).resolve(pack.name().hex() + ".index");
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(directory.resolve(PackFixture.NAMESPACE))) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    /** Returns all damages of a file: each byte changed, each truncation, an extension. */
    private List<byte[]> damages(byte[] sound) {
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < sound.length; i++) {
            byte[] changed = sound.clone();
            changed[i] ^= (byte) (1 << entries.random().nextInt(Byte.SIZE));
            all.add(changed);
            all.add(Arrays.copyOf(sound, i));
        }
        all.add(Arrays.copyOf(sound, sound.length + 1));
        all.add(entries.bytes(sound.length));
        return all;
    }

    @Test
    @DisplayName("L1 a file that cannot be put in place leaves no temporary file")
    void failedWrite() throws IOException {
        bucket.publish(one, two);
        Files.createDirectories(manifest().resolve("in-the-way"));
        assertHit(one);
        assertEquals(
                List.of(),
                files().stream().filter(name -> name.endsWith(".part")).toList());
    }

    @Test
    @DisplayName(
            "R12 the second process on a machine sends no request before the range of the entry")
    void secondProcess() throws IOException {
        PackInfo pack = bucket.publish(one, two);
        assertHit(one);
        assertEquals(6, store.newRequests().size());
        assertHit(two);
        assertEquals(List.of("RANGE pack"), store.newRequests());
        assertEquals(
                List.of("manifest", pack.name().hex() + ".index").stream()
                        .sorted()
                        .toList(),
                files());
    }

    @Test
    @DisplayName("D13 cached files are in directories that are private to this user")
    void isPrivate() throws IOException {
        bucket.publish(one);
        assertHit(one);
        for (Path made : List.of(
                directory.resolve(PackFixture.NAMESPACE),
                directory.resolve(Path.of(PackFixture.NAMESPACE).getName(0)))) {
            assertEquals(
                    "rwx------",
                    PosixFilePermissions.toString(Files.getPosixFilePermissions(made)),
                    made::toString);
        }
    }

    @Test
    @DisplayName("R12 the absence of packs is cached, too")
    void noPacks() {
        assertEquals(PackAnswer.NOT_PACKED, load(one));
        assertEquals(List.of("GET newest"), store.newRequests());
        assertEquals(PackAnswer.NOT_PACKED, load(one));
        assertEquals(List.of(), store.newRequests());
    }

    @Test
    @DisplayName(
            "D6 any changed byte of a cached index, any truncation: read from the bucket again,"
                    + " hit, and the file is sound again")
    void damagedIndex() throws IOException {
        PackInfo pack = bucket.publish(one, two);
        assertHit(one);
        byte[] sound = Files.readAllBytes(index(pack));
        for (byte[] damaged : damages(sound)) {
            Files.write(index(pack), damaged);
            assertHit(two);
            assertEquals(List.of("RANGE pack", "RANGE pack"), store.newRequests());
            assertArrayEquals(sound, Files.readAllBytes(index(pack)));
        }
    }

    @Test
    @DisplayName(
            "D6 any changed byte of a cached manifest, any truncation: read from the bucket again,"
                    + " hit, and the file is sound again")
    void damagedManifest() throws IOException {
        bucket.publish(one, two);
        assertHit(one);
        byte[] sound = Files.readAllBytes(manifest());
        for (byte[] damaged : damages(sound)) {
            Files.write(manifest(), damaged);
            assertHit(two);
            assertEquals(
                    List.of("GET newest", "HEAD m1", "HEAD m2", "GET m1", "RANGE pack"),
                    store.newRequests());
            assertArrayEquals(sound, Files.readAllBytes(manifest()));
        }
    }

    @Test
    @DisplayName(
            "D6 the cached indexes of two packs of the same length are swapped: each is detected,"
                    + " and read again")
    void swappedIndexes() throws IOException {
        Entry[][] halves = new Entry[2][16];
        for (int i = 0; i < 2 * 16; i++) {
            halves[i % 2][i / 2] = entries.entry(entries.id(), 64);
        }
        PackInfo first = bucket.publish(sameLength(halves[0]));
        PackInfo second = bucket.publish(sameLength(halves[1]));
        assertEquals(first.indexOffset(), second.indexOffset());
        assertHit(halves[0][0]);
        assertHit(halves[1][0]);
        byte[] retained = Files.readAllBytes(index(first));
        Files.write(index(first), Files.readAllBytes(index(second)));
        Files.write(index(second), retained);
        assertHit(halves[0][1]);
        assertHit(halves[1][1]);
        assertArrayEquals(retained, Files.readAllBytes(index(first)));
    }

    /** Returns a pack whose entries have the same total size, whatever their ids. */
    private Pack sameLength(Entry... of) {
        PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, bucket.random());
        for (Entry entry : of) {
            builder.add(entry.id().hash(), PackFixture.encoded(entry), 0);
        }
        long padding = 64_000 - builder.bytes();
        builder.add(PackFixture.hash(bucket.random()), entries.bytes((int) padding), 0);
        return builder.build();
    }

    @Test
    @DisplayName("D6 a cached manifest of another bucket: misses until it is compared, then hits")
    void foreignManifest() throws IOException {
        PackFixture elsewhere = new PackFixture("PackIndexCacheTest.elsewhere");
        for (int i = 0; i < 5; i++) {
            elsewhere.publish(entries.entry(10));
        }
        elsewhere.seal();
        bucket.publish(one);
        bucket.publish(two);
        assertHit(one);
        Files.write(manifest(), elsewhere.newest().encode());
        PackReader process = process();
        assertEquals(PackAnswer.ABSENT, process.load(one.id(), store));
        nanos += Duration.ofMinutes(2).toNanos();
        PackAnswer ignored = process.load(one.id(), store);
        background.remove().run();
        assertThat(process.load(one.id(), store)).isFinal().isHit();
        assertHit(two);
    }

    @Test
    @DisplayName(
            "R18 the bucket was emptied and filled again since the manifest was cached: hits after"
                    + " one comparison, for all processes")
    void emptiedBucket() {
        for (int i = 0; i < 5; i++) {
            bucket.publish(entries.entry(10));
        }
        bucket.publish(one);
        assertHit(one);
        store.keys().forEach(store::remove);
        bucket.publish(one, two);
        assertHit(one);
        assertHit(two);
        assertEquals(List.of("RANGE pack"), store.newRequests());
    }

    @Test
    @DisplayName("a manifest that was confirmed long ago is used at once and compared in the"
            + " background; a fresh one is not compared")
    void age() throws IOException {
        bucket.publish(one);
        assertHit(one);
        PackReader fresh = process();
        fresh.load(one.id(), store);
        fresh.load(one.id(), store);
        assertTrue(background.isEmpty());
        Files.setLastModifiedTime(
                manifest(), FileTime.from(Instant.now().minus(Duration.ofHours(1))));
        PackReader late = process();
        store.newRequests();
        late.load(one.id(), store);
        late.load(one.id(), store);
        assertEquals(List.of("RANGE pack", "RANGE pack"), store.newRequests());
        assertEquals(1, background.size());
        background.remove().run();
        assertTrue(Files.getLastModifiedTime(manifest())
                .toInstant()
                .isAfter(Instant.now().minus(Duration.ofMinutes(10))));
    }

    @Test
    @DisplayName(
            "D17 indexes of unnamed packs, and temporary files of ended processes, are removed;"
                    + " those of running processes are not")
    void sweep() throws IOException {
        PackInfo old = bucket.publish(one);
        assertHit(one);
        Path dead = manifest().resolveSibling("manifest-0000.part");
        Path underWay = manifest().resolveSibling("manifest-0001.part");
        Path foreign = manifest().resolveSibling("README");
        for (Path file : List.of(dead, underWay, foreign)) {
            Files.write(file, new byte[1]);
        }
        Files.setLastModifiedTime(dead, FileTime.from(Instant.now().minus(Duration.ofHours(2))));
        PackInfo with = bucket.replace(old, one);
        assertHit(one);
        assertEquals(
                Stream.of(
                                "README",
                                "manifest",
                                "manifest-0001.part",
                                with.name().hex() + ".index")
                        .sorted()
                        .toList(),
                files());
        assertFalse(Files.exists(index(old)));
    }

    @Test
    @DisplayName(
            "D16 a cache that is no directory, or has directories in place of files: every lookup"
                    + " reads the bucket, and hits")
    void unusable() throws IOException {
        PackInfo pack = bucket.publish(one);
        Files.createDirectories(manifest());
        Files.createDirectories(index(pack));
        assertHit(one);
        assertHit(one);
        Path file = directory.resolve("a-file");
        Files.write(file, new byte[1]);
        PackReader onFile = new PackReader(
                store,
                bucket.settings(Optional.of(file)),
                Duration.ofMinutes(1),
                Duration.ofSeconds(1),
                () -> nanos);
        assertThat(onFile.load(one.id(), store)).isFinal().isHit();
    }

    @Test
    @DisplayName("each bucket has a directory of its own")
    void locations() {
        assertFalse(PackReader.indexDirectory(directory, "s3://a")
                .equals(PackReader.indexDirectory(directory, "s3://b")));
        assertEquals(
                PackReader.indexDirectory(directory, "s3://a"),
                PackReader.indexDirectory(directory, "s3://a"));
        assertTrue(PackReader.indexDirectory(directory, "s3://a")
                .startsWith(directory.resolve("packs")));
    }
}
