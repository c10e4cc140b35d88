package dev.granary.local;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.contract.TestEntries;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Tests of damage to the file of an entry: a counted miss that is removed by the lookup and healed
 * by the next store, never an exception or wrong bytes.
 */
final class CorruptionTest {
    private static final int LENGTH_AT = 16; // in the header of each version
    private final TestEntries entries = new TestEntries("CorruptionTest");
    private final Entry entry = entries.entry(40);

    @TempDir
    private Path temporary;

    private Path directory;
    private LocalTier tier;
    private byte[] sound;
    private int damaged;

    @BeforeEach
    void open() throws Exception {
        directory = temporary.resolve("cache");
        tier = LocalTier.open(
                LocalTierConfig.builder(directory).background(Runnable::run).build());
        tier.store(entry);
        sound = Files.readAllBytes(file(entry));
    }

    @AfterEach
    void invariants() throws IOException, LocalDirectoryException {
        tier.close();
        StoreInvariants.check(directory);
    }

    private Path file(Entry of) {
        return StoreInvariants.file(directory, of.id());
    }

    /** Checks the result of a lookup of damaged bytes, once healed by it and once by a store. */
    private void assertHeals(byte[] bad, int at) throws IOException {
        Files.write(file(entry), bad);
        if (damaged++ % 2 == 0) {
            boolean stays = assertThat(tier.load(entry.id()))
                                    .as("byte " + at)
                                    .isDamaged()
                                    .damage()
                            == DamageKind.TOO_NEW
                    || Files.exists(file(entry));
            assertEquals(stays, Files.exists(file(entry)));
            if (!stays) {
                assertThat(tier.load(entry.id())).isAbsent();
            }
        }
        assertThat(tier.store(entry)).as("byte " + at).isStored();
        assertThat(tier.load(entry.id())).isHitOf(entry);
    }

    @Test
    @DisplayName("a flipped bit in any byte is a miss, healed by the next store")
    void anyByte() throws IOException {
        for (int bit = 0; bit < 8; bit++) {
            // bit 0 of every byte, each other bit of a ninth of the bytes
            for (int i = bit; i < sound.length; i += bit == 0 ? 1 : 9) {
                byte[] bad = sound.clone();
                bad[i] ^= (byte) (1 << ((i + bit) % 8));
                if (i < 14 || i > 15) { // the reserved field may have any value
                    assertHeals(bad, i);
                }
            }
        }
    }

    @Test
    @DisplayName("any truncation, any length of junk behind it, zeros from any byte on, as a torn"
            + " write leaves them: a miss, healed by the next store")
    void tornAtAnyByte() throws IOException {
        for (int at = 0; at < sound.length; at++) {
            assertHeals(Arrays.copyOf(sound, at), at);
            assertHeals(Arrays.copyOf(sound, sound.length + 1 + at), at);
            byte[] zeros = Arrays.copyOf(Arrays.copyOf(sound, at), sound.length);
            if (!Arrays.equals(zeros, sound)) {
                assertHeals(zeros, at);
            }
        }
    }

    @Test
    @DisplayName("an extreme value in any field of header and table is a miss, healed by the next"
            + " store")
    void extremes() throws IOException {
        for (int at = 16; at + Long.BYTES <= 180; at++) {
            for (byte extreme : new byte[] {0, 0x7f, (byte) 0xff}) {
                byte[] bad = sound.clone();
                Arrays.fill(bad, at, at + Long.BYTES, extreme);
                if (!Arrays.equals(bad, sound)) {
                    assertHeals(bad, at);
                }
            }
        }
    }

    @Test
    @DisplayName("foreign content in place of an entry: a miss, healed by the next store")
    void foreignContent() throws IOException {
        assertHeals("<html>404 not found</html>".getBytes(StandardCharsets.UTF_8), 0);
        assertHeals(entries.bytes(sound.length), 1);
        assertHeals(new byte[sound.length], 2);
        assertHeals(new byte[0], 3);
        assertHeals(entries.bytes(1 << 20), 4);
    }

    @Test
    @DisplayName("bytes that cannot be an entry take no memory, whatever the file's length")
    void hugeFiles() throws IOException {
        for (long length : new long[] {1 << 20, 1L << 30, (1L << 30) + 1, 1L << 40}) {
            for (int from : new int[] {0, 20}) { // without and with a header
                Files.write(file(entry), Arrays.copyOfRange(sound, from, sound.length));
                try (RandomAccessFile sparse = new RandomAccessFile(file(entry).toFile(), "rw")) {
                    sparse.setLength(length);
                }
                long before = Thread.currentThread().isAlive() ? directMemory() : 0;
                assertThat(tier.load(entry.id())).isDamaged();
                assertTrue(directMemory() - before < 1 << 20);
                assertThat(tier.store(entry)).isStored();
                assertThat(tier.load(entry.id())).isHitOf(entry);
            }
        }
    }

    private static long directMemory() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
    }

    @Test
    @DisplayName("two entries swapped: two misses, both healed")
    void swapped() throws IOException {
        Entry other = entries.entry(TestEntries.id("two"), 40);
        tier.store(other);
        Path aside = temporary.resolve("aside");
        Files.move(file(entry), aside);
        Files.move(file(other), file(entry));
        Files.move(aside, file(other));
        for (Entry each : List.of(entry, other)) {
            assertThat(tier.load(each.id())).isDamaged(DamageKind.WRONG_KEY);
            assertThat(tier.store(each)).isStored();
            assertThat(tier.load(each.id())).isHitOf(each);
        }
    }

    @Test
    @DisplayName("the lookup that finds a damaged entry removes it; an entry of another version"
            + " stays for that version, until a store replaces it")
    void removedByLookup() throws IOException {
        Files.write(file(entry), new byte[] {1});
        assertThat(tier.load(entry.id())).isDamaged();
        assertFalse(Files.exists(file(entry)));
        for (boolean isLater : new boolean[] {true, false}) {
            for (int length : new int[] {sound.length, 1 << 20}) {
                byte[] longer = Arrays.copyOf(sound, length);
                ByteBuffer.wrap(longer).putLong(LENGTH_AT, length);
                TestEntries.setVersion(longer, 0, isLater ? 99 : 1);
                Files.write(file(entry), longer);
                assertThat(tier.load(entry.id()))
                        .isDamaged(isLater ? DamageKind.TOO_NEW : DamageKind.TOO_OLD);
                assertTrue(Files.exists(file(entry)));
            }
            assertThat(tier.store(entry)).isStored();
            assertThat(tier.load(entry.id())).isHitOf(entry);
        }
    }
}
