package dev.granary.coordinator.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Fuzz test of texts of {@code about.txt}, in memory. */
class EntryDescriptionFuzzTest {
    @Test
    @DisplayName("Fuzz: about.txt is parsed or rejected; parsed content can be stored, written and"
            + " parsed again")
    void about() {
        Entry entry = new TestEntries("fuzz about").entry(40);
        Entry unusual = Entry.of(
                entry.id(),
                entry.binaries(),
                Duration.ofNanos(1_234_567_891),
                new EntryMetadata(
                        "1",
                        "a\\b\n\u001b\ud83d\ude00\ud800",
                        Instant.ofEpochMilli(1),
                        List.of("k", "l"),
                        List.of("k@1024/64", ""),
                        ""));
        String minimal =
                "granary-entry: 1\ncompile-time: PT1S\ncontent-sha256: " + "a".repeat(64) + "\n";
        List<byte[]> seeds = Stream.of(
                        EntryDescription.text(entry),
                        EntryDescription.text(unusual),
                        minimal,
                        minimal
                                + "producer: x\n"
                                + "library-version: 1\n"
                                + "created-at: 2026-11-21T00:00:00Z\n"
                                + "key: \\u0041\n",
                        minimal + "binary-bytes: 40\n")
                .map(text -> text.getBytes(UTF_8))
                .toList();
        Fuzzer.run(FuzzTarget.of("about.txt", seeds, bytes -> {
                    EntryDescription parsed = EntryDescription.parse(new String(bytes, UTF_8));
                    EntryMetadata metadata =
                            parsed.metadata().orElseGet(() -> unusual.metadata().orElseThrow());
                    Entry stored =
                            Entry.of(entry.id(), entry.binaries(), parsed.compileTime(), metadata);
                    EntryFormat.encode(stored, Compression.NONE, WriteAttemptId.NONE);
                    EntryDescription reparsed =
                            EntryDescription.parse(EntryDescription.text(stored));
                    assertEquals(
                            new EntryDescription(
                                    parsed.compileTime(),
                                    stored.contentHash(),
                                    List.of(40L),
                                    Optional.of(metadata)),
                            reparsed);
                })
                .words(List.of(
                        ": ",
                        "\n",
                        "\r",
                        "\\u0000",
                        "\\ud800",
                        "\\udc00",
                        "\\",
                        "created-at: +292278995-01-01T00:00:00Z\n",
                        "created-at: -1000000000-01-01T00:00:00Z\n",
                        "compile-time: PT9223372036854775807S\n",
                        "PT-1S",
                        "P1D",
                        "granary-entry: 1\n",
                        "binary-bytes: 40\n",
                        "producer: x\n",
                        "key: ",
                        "kernel: ",
                        "9223372036854775808",
                        "\u2028"))
                .throwing(TreeException.class)
                .allocating(400));
    }
}
