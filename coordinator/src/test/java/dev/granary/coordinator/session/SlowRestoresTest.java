package dev.granary.coordinator.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;

/** Tests of the rule for slow restores, and of its records. */
class SlowRestoresTest {
    private static final Instant NOW = Instant.parse("2026-11-23T10:00:00Z");

    @TempDir
    private Path directory = Path.of("");

    private Instant now = NOW;

    private SlowRestores open() throws IOException {
        return new SlowRestores(directory, () -> now);
    }

    private static Entry entry(String name, int content, long compileMillis) {
        Entry any = TestEntries.entry(
                TestEntries.id(name), KernelBinaries.of(new byte[] {(byte) content}));
        return Entry.of(
                any.id(),
                any.binaries(),
                Duration.ofMillis(compileMillis),
                any.metadata().orElseThrow());
    }

    @ParameterizedTest
    @DisplayName("N8 a restore is slow from 200 ms and half of the compile time on")
    @CsvSource({
        "200, 199, false",
        "200, 200, true",
        "10, 200, true",
        "1000, 499, false",
        "1000, 500, true",
        "0, 5000, false"
    })
    void rule(long compileMillis, long restoreMillis, boolean isSlow) throws Exception {
        Entry entry = entry("a", 1, compileMillis);
        SlowRestores records = open();
        records.took(entry, Duration.ofMillis(restoreMillis));
        assertEquals(isSlow, records.isSuspected(entry));
        assertFalse(records.isConfirmed(entry), "the clock alone confirms nothing");
        assertEquals(isSlow, records.tookProcessorTime(entry, Duration.ofMillis(restoreMillis)));
        assertEquals(isSlow, records.isConfirmed(entry));
    }

    @Test
    @DisplayName("N8 records are of one content, survive processes, and end after 90 days")
    void records() throws Exception {
        Entry slow = entry("a", 1, 300);
        open().took(slow, Duration.ofMillis(300));
        assertTrue(open().isSuspected(slow));
        assertFalse(open().isSuspected(entry("a", 2, 300)));
        assertFalse(open().isSuspected(entry("b", 1, 300)));
        open().tookProcessorTime(slow, Duration.ofMillis(300));
        assertTrue(open().isConfirmed(slow));
        assertTrue(QuarantineReader.isSlow(directory, slow, now));
        assertFalse(QuarantineReader.isSlow(directory, entry("a", 2, 300), now));
        now = NOW.plus(Duration.ofDays(90));
        assertFalse(QuarantineReader.isSlow(directory, slow, now));
        assertFalse(open().isConfirmed(slow));
    }

    @Test
    @DisplayName("N8 an id whose entry was replaced has no other slow content for 90 days")
    void replaced() throws Exception {
        Entry slow = entry("a", 1, 300);
        Entry fresh = entry("a", 2, 300);
        SlowRestores records = open();
        records.took(slow, Duration.ofMillis(300));
        records.tookProcessorTime(slow, Duration.ofMillis(300));
        records.replaced(slow);
        for (SlowRestores each : new SlowRestores[] {records, open()}) {
            for (Entry entry : new Entry[] {slow, fresh}) {
                each.took(entry, Duration.ofMillis(300));
                assertFalse(each.isSuspected(entry));
                each.tookProcessorTime(entry, Duration.ofMillis(300));
                assertFalse(each.isConfirmed(entry));
                assertFalse(QuarantineReader.isSlow(directory, entry, now));
            }
        }
        now = NOW.plus(Duration.ofDays(90));
        SlowRestores later = open();
        later.took(fresh, Duration.ofMillis(300));
        assertTrue(later.isSuspected(fresh));
    }

    @Test
    @DisplayName(
            "N8 without slow restores nothing is written; what cannot be written is no failure")
    void nothingWritten() throws Exception {
        Entry entry = entry("a", 1, 300);
        open().took(entry, Duration.ofMillis(20));
        assertTrue(Files.notExists(directory.resolve("slow")));
        Files.createFile(directory.resolve("slow"));
        SlowRestores records = open();
        records.took(entry, Duration.ofMillis(300));
        assertFalse(records.isSuspected(entry));
        records.tookProcessorTime(entry, Duration.ofMillis(300));
        records.replaced(entry);
        assertFalse(records.isConfirmed(entry));
    }
}
