package dev.granary.s3.pack;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.pack.format.PackBuilder;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.Register;

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
 * Heads, bases and indexes that another process has cached on disk: the requests that they save,
 * and that no file there can make a lookup wrong.
 */
class PackIndexCacheTest {
    private static final Duration INTERVAL = Duration.ofMinutes(1);

    private final PackFixture bucket = new PackFixture("PackIndexCacheTest");
    private final RecordingObjectStore store = bucket.store;
    private final TestEntries entries = new TestEntries("PackIndexCacheTest");
    private final Entry one = entries.entry(100);
    private final Entry two = entries.entry(100);
    private final Queue<Runnable> background = new ArrayDeque<>();
    private long nanos = 1_000_000_000_000L;

    @TempDir
    private Path directory;

    private PackLookupDriver process() {
        RefreshSchedule schedule = new RefreshSchedule(
                INTERVAL,
                Duration.ofSeconds(30),
                () -> nanos,
                System::currentTimeMillis,
                bucket.random());
        return new PackLookupDriver(
                store,
                new PackReader(
                        store, bucket.settings(Optional.of(directory)), schedule, background::add));
    }

    /** Looks up an entry as a new process; the store records the requests. */
    private LoadResult load(Entry entry) {
        store.newRequests();
        return process().load(entry);
    }

    private void assertHit(Entry entry, String... requests) {
        assertThat(load(entry)).isHitOf(entry);
        if (requests.length > 0) {
            assertEquals(List.of(requests), store.newRequests());
        }
    }

    private Path cached(String name) {
        return directory.resolve(PackFixture.NAMESPACE).resolve(name);
    }

    private Path head() {
        return cached("head");
    }

    private Path index(PackInfo pack) {
        return cached(pack.name() + ".index");
    }

    private Path base() {
        return cached(bucket.head().base().orElseThrow() + ".base");
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(directory.resolve(PackFixture.NAMESPACE))) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    /** Moves the packs into a base, as a publisher does that finds the head full. */
    private void fold() {
        while (bucket.head().base().isEmpty()) {
            bucket.publishOther(entries, one, two);
        }
    }

    private static void setAge(Path file, Duration age) throws IOException {
        Files.setLastModifiedTime(file, FileTime.from(Instant.now().minus(age)));
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
    @DisplayName("a file that cannot be put in place leaves no temporary file")
    void failedWrite() throws IOException {
        bucket.publish(one, two);
        Files.createDirectories(head().resolve("in-the-way"));
        assertHit(one);
        assertEquals(
                List.of(),
                files().stream().filter(name -> name.endsWith(".part")).toList());
    }

    @Test
    @DisplayName(
            "the second process on a machine sends no request before the range of the" + " entry")
    void secondProcess() throws IOException {
        PackInfo pack = bucket.publish(one, two);
        assertHit(one, "GET head", "RANGE pack", "RANGE pack");
        assertHit(two, "RANGE pack");
        assertEquals(List.of(pack.name() + ".index", "head"), files());
        fold();
        setAge(head(), Duration.ofHours(1));
        assertThat(load(entries.entry(1))).isAbsent();
        assertHit(two, "RANGE pack");
        assertTrue(files().contains(base().getFileName().toString()));
    }

    @Test
    @DisplayName("cached files are in directories that are private to this user")
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
    @DisplayName("any changed byte of a cached index, any truncation: read from the bucket again,"
            + " hit, and the file is sound again")
    void damagedIndex() throws IOException {
        PackInfo pack = bucket.publish(one, two);
        assertHit(one);
        byte[] sound = Files.readAllBytes(index(pack));
        for (byte[] damaged : damages(sound)) {
            Files.write(index(pack), damaged);
            assertHit(two, "RANGE pack", "RANGE pack");
            assertArrayEquals(sound, Files.readAllBytes(index(pack)));
        }
    }

    @Test
    @DisplayName("any changed byte of a cached head, any truncation: read from the bucket again,"
            + " hit, and the file is sound again")
    void damagedHead() throws IOException {
        bucket.publish(one, two);
        assertHit(one);
        byte[] sound = Files.readAllBytes(head());
        for (byte[] damaged : damages(sound)) {
            Files.write(head(), damaged);
            assertHit(two, "GET head", "RANGE pack");
            assertArrayEquals(sound, Files.readAllBytes(head()));
        }
    }

    @Test
    @DisplayName("a cached base that is damaged or missing: head and base are read from the"
            + " bucket again, hit, and the file is sound again")
    void damagedBase() throws IOException {
        bucket.publish(one);
        fold();
        assertHit(one, "GET head", "GET base", "RANGE pack", "RANGE pack");
        byte[] sound = Files.readAllBytes(base());
        byte[] changed = sound.clone();
        changed[sound.length / 2] ^= 1;
        for (byte[] damaged : List.of(changed, Arrays.copyOf(sound, 100), new byte[0])) {
            Files.write(base(), damaged);
            assertHit(one, "GET head", "GET base", "RANGE pack");
            assertArrayEquals(sound, Files.readAllBytes(base()));
        }
        Files.delete(base());
        assertHit(one, "GET head", "GET base", "RANGE pack");
    }

    @Test
    @DisplayName("the cached indexes of two packs of the same length are swapped: each is"
            + " detected, and read again")
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
        setAge(head(), Duration.ofHours(1));
        byte[] retained = Files.readAllBytes(index(first));
        Files.write(index(first), Files.readAllBytes(index(second)));
        Files.write(index(second), retained);
        assertHit(halves[0][1]);
        assertHit(halves[1][1]);
        assertArrayEquals(retained, Files.readAllBytes(index(first)));
    }

    /** Returns a pack whose entries have the same total size, whatever their ids. */
    private PackBuilder.Pack sameLength(Entry... of) {
        PackBuilder builder = new PackBuilder(PackFixture.NAMESPACE, bucket.random());
        int bytes = 0;
        for (Entry entry : of) {
            byte[] encoded = PackFixture.encoded(entry);
            builder.add(entry.id().hash(), encoded, 0);
            bytes += encoded.length;
        }
        builder.add(PackFixture.hash(bucket.random()), entries.bytes(64_000 - bytes), 0);
        return builder.build();
    }

    @Test
    @DisplayName("a cached head of another bucket: misses until it is compared, then hits")
    void foreignHead() throws Exception {
        PackFixture elsewhere = new PackFixture("PackIndexCacheTest.elsewhere");
        elsewhere.store.pass(Duration.ofDays(1));
        elsewhere.publish(entries.entry(10));
        bucket.publish(one);
        bucket.publish(two);
        assertHit(one);
        Files.write(head(), Register.encode(elsewhere.register().read().orElseThrow()));
        PackLookupDriver process = process();
        assertThat(process.load(one)).isAbsent();
        nanos += INTERVAL.multipliedBy(2).toNanos();
        assertThat(process.load(entries.entry(1))).isAbsent();
        background.remove().run();
        assertThat(process.load(one)).isHitOf(one);
        assertThat(process.load(two)).isHitOf(two);
        setAge(head(), Duration.ofHours(1));
        assertHit(two); // after a comparison, although the other head has a higher generation
    }

    @Test
    @DisplayName("the bucket was emptied and filled again since the head was cached: hits after"
            + " one comparison, for all processes")
    void emptiedBucket() {
        for (int i = 0; i < 5; i++) {
            bucket.publishOther(entries, one);
        }
        bucket.publish(one);
        assertHit(one);
        store.keys().forEach(store::remove);
        store.pass(Duration.ofSeconds(1));
        bucket.publish(one, two);
        assertHit(one, "RANGE pack", "GET entry", "GET head", "RANGE pack", "RANGE pack");
        assertHit(two, "RANGE pack");
    }

    @Test
    @DisplayName("the bucket was emptied: the cached head leaves with the first comparison")
    void emptied() {
        bucket.publish(one);
        assertHit(one);
        store.keys().forEach(store::remove);
        assertThat(load(one)).isAbsent();
        assertFalse(Files.exists(head()));
        assertThat(load(one)).isAbsent();
        assertEquals(List.of("GET head", "GET entry"), store.newRequests());
    }

    @Test
    @DisplayName("a cached head is replaced by one of a higher generation only: a process that"
            + " was suspended stores nothing old")
    void suspended() throws Exception {
        bucket.publish(one);
        Register.Stored old = bucket.register().read().orElseThrow();
        PackInfo second = bucket.publish(two);
        assertHit(two);
        byte[] newer = Files.readAllBytes(head());
        PackIndexCache cache = bucket.indexCache(directory);
        cache.store(old, old.head().recent());
        assertArrayEquals(newer, Files.readAllBytes(head()));
        assertTrue(Files.exists(index(second)));
        bucket.publish(entries.entry(1));
        Register.Stored newest = bucket.register().read().orElseThrow();
        cache.store(newest, newest.head().recent());
        Head cached = cache.head().orElseThrow().stored().head();
        assertEquals(newest.head().generation(), cached.generation());
    }

    @Test
    @DisplayName(
            "a head that was confirmed long ago is used at once and compared in the background;"
                    + " a fresh one is not compared")
    void age() throws IOException {
        bucket.publish(one);
        assertHit(one);
        PackLookupDriver fresh = process();
        fresh.load(one);
        fresh.load(one);
        assertTrue(background.isEmpty());
        setAge(head(), Duration.ofHours(1));
        PackLookupDriver late = process();
        store.newRequests();
        late.load(one);
        late.load(one);
        assertEquals(List.of("RANGE pack", "RANGE pack"), store.newRequests());
        assertEquals(1, background.size());
        background.remove().run();
        assertTrue(Files.getLastModifiedTime(head())
                .toInstant()
                .isAfter(Instant.now().minus(Duration.ofMinutes(10))));
    }

    @Test
    @DisplayName("a head that was confirmed more than three intervals ago shows no absence: it is"
            + " compared first")
    void tooOld() throws IOException {
        bucket.publish(one);
        assertHit(one);
        bucket.publish(two);
        assertThat(load(two)).isAbsent();
        setAge(head(), INTERVAL.multipliedBy(4));
        assertHit(two, "GET entry", "GET head", "RANGE pack", "RANGE pack");
    }

    @Test
    @DisplayName("bases, indexes of unnamed packs, and temporary files of ended processes are"
            + " removed; those of running processes are not")
    void sweep() throws Exception {
        bucket.publish(one);
        fold();
        assertHit(one);
        Path old = base();
        assertTrue(Files.exists(old));
        Path dead = cached("head-0000.part");
        Path underWay = cached("head-0001.part");
        Path foreign = cached("README");
        for (Path file : List.of(dead, underWay, foreign)) {
            Files.write(file, new byte[1]);
        }
        setAge(dead, Duration.ofHours(2));
        bucket.compact();
        assertFalse(old.equals(base()));
        setAge(head(), Duration.ofHours(1));
        assertThat(load(entries.entry(1))).isAbsent();
        assertEquals(
                Stream.of("README", base().getFileName().toString(), "head", "head-0001.part")
                        .sorted()
                        .toList(),
                files());
    }

    @Test
    @DisplayName("a cache that is no directory, or has directories in place of files: every"
            + " lookup reads the bucket, and hits")
    void unusable() throws IOException {
        PackInfo pack = bucket.publish(one);
        Files.createDirectories(head());
        Files.createDirectories(index(pack));
        assertHit(one);
        assertHit(one);
        Path file = directory.resolve("a-file");
        Files.write(file, new byte[1]);
        try (PackLookupDriver onFile = new PackLookupDriver(bucket, store, Optional.of(file))) {
            assertThat(onFile.load(one)).isHitOf(one);
        }
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
