package dev.granary.local;

import static dev.granary.cache.contract.PersistentCacheContract.assertHit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Damage;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.EntryFormat;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Damage of every kind to a stored entry: a miss, counted, healed, never an exception and never wrong bytes. */
final class CorruptionTest {
    private final TestEntries entries = new TestEntries("CorruptionTest");
    private final Entry entry = entries.entry(40);

    @TempDir
    private Path directory;

    private LocalTier tier;
    private Path file;
    private byte[] sound;

    @BeforeEach
    void store() throws Exception {
        tier = LocalTier.open(LocalConfig.builder(directory).background(Runnable::run).build());
        tier.store(entry);
        file = Invariants.entryFiles(directory).getFirst();
        sound = Files.readAllBytes(file);
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        tier.close();
        Invariants.check(directory);
    }

    @Test
    @DisplayName("D6 a flipped bit in any byte is a miss, healed by the next store")
    void anyByte() throws IOException {
        for (int i = 0; i < sound.length; i++) {
            byte[] bad = sound.clone();
            bad[i] ^= (byte) (1 << (i % 8));
            assertMissAndHeals(bad, i);
        }
        assertEquals(sound.length, tier.statistics().healed());
    }

    @Test
    @DisplayName("D6 any truncation is a miss, healed by the next store")
    void anyTruncation() throws IOException {
        for (int length = 0; length < sound.length; length++) {
            assertMissAndHeals(Arrays.copyOf(sound, length), length);
        }
    }

    @Test
    @DisplayName("D6 trailing bytes, foreign content, lengths out of bounds: a miss, healed by the next store")
    void otherDamage() throws IOException {
        assertMissAndHeals(Arrays.copyOf(sound, sound.length + 1), 0);
        assertMissAndHeals(Arrays.copyOf(sound, sound.length + 100_000), 0);
        assertMissAndHeals("<html>404 not found</html>".getBytes(StandardCharsets.UTF_8), 0);
        for (int at = 12; at + Long.BYTES <= 160; at++) { // every field of header and table takes every extreme
            for (byte extreme : new byte[] {(byte) 0xff, 0x7f, 0}) {
                byte[] bad = sound.clone();
                Arrays.fill(bad, at, at + Long.BYTES, extreme);
                if (!Arrays.equals(bad, sound)) {
                    assertMissAndHeals(bad, at);
                }
            }
        }
    }

    @Test
    @DisplayName("D6 the files of two entries swapped: two misses, both healed")
    void swapped() throws IOException {
        Entry other = entries.entry(50);
        tier.store(other);
        Path otherFile = Invariants.entryFiles(directory).stream().filter(f -> !f.equals(file)).findFirst().orElseThrow();
        byte[] otherSound = Files.readAllBytes(otherFile);
        Files.write(file, otherSound);
        Files.write(otherFile, sound);
        assertEquals(Damage.WRONG_KEY, assertInstanceOf(LoadResult.Damaged.class, tier.load(entry.id())).damage());
        assertEquals(Damage.WRONG_KEY, assertInstanceOf(LoadResult.Damaged.class, tier.load(other.id())).damage());
        assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
        assertInstanceOf(StoreResult.Stored.class, tier.store(other));
        assertHit(entry, tier.load(entry.id()));
        assertHit(other, tier.load(other.id()));
        assertEquals(2, tier.statistics().healed());
    }

    @Test
    @DisplayName("T5 a file longer than any entry is refused before memory for it is asked for")
    void tooLarge() throws IOException {
        try (RandomAccessFile grown = new RandomAccessFile(file.toFile(), "rw")) {
            grown.setLength(EntryFormat.MAX_BYTES + 1);
        }
        assertEquals(Damage.TOO_LARGE, assertInstanceOf(LoadResult.Damaged.class, tier.load(entry.id())).damage());
        assertEquals(LoadResult.ABSENT, tier.load(entry.id()));
    }

    @Test
    @DisplayName("D6 a damaged entry goes with the look-up that finds it; another version's stays for that version")
    void removedByLookUp() throws IOException {
        byte[] bad = sound.clone();
        bad[sound.length - 1] ^= 1;
        Files.write(file, bad);
        assertInstanceOf(LoadResult.Damaged.class, tier.load(entry.id()));
        assertEquals(LoadResult.ABSENT, tier.load(entry.id()));
        byte[] newer = sound.clone();
        newer[9] = 2;
        Files.write(file, newer);
        for (int i = 0; i < 2; i++) {
            assertEquals(Damage.TOO_NEW, assertInstanceOf(LoadResult.Damaged.class, tier.load(entry.id())).damage());
        }
        assertTrue(Files.exists(file));
    }

    private void assertMissAndHeals(byte[] bad, int variant) throws IOException {
        Files.write(file, bad);
        if (variant % 2 == 0) { // healed by a look-up and a store, or by a store alone
            LoadResult found = tier.load(entry.id());
            assertInstanceOf(LoadResult.Damaged.class, found, () -> "variant " + variant + ": " + found);
        }
        assertInstanceOf(StoreResult.Stored.class, tier.store(entry));
        assertHit(entry, tier.load(entry.id()));
    }
}
