package dev.granary.it;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.s3.BucketTier;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.TestS3;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A bucket with an entry on which the driver really ends its process. Its bytes were damaged before
 * they were hashed, so that each check of Granary passes.
 */
@ExtendWith(WithDevice.class)
class DeadlyEntryTest {
    private static final String BITCODE = "BC\u00c0\u00de";
    private static final int DAMAGED_BYTES = 5000;

    /** The exit code of a process that a failed assertion of the driver aborts. */
    private static final int ABORTED = 134;

    private final S3Config bucket = TestS3.server().config().build();
    private final Map<String, String> online = new HashMap<>(TestS3.server().environment());

    @TempDir
    private Path directory = Path.of("");

    private Path manifest = Path.of("");

    @BeforeEach
    void manifest() throws Exception {
        online.put("GRANARY_BUCKET", bucket.location().toString());
        manifest = directory.resolve("kernels.toml");
        Files.writeString(manifest, """
            [[kernel]]
            name = "two"
            source = "%s/two.cl"
            """.formatted(TestManifests.resources()));
    }

    private GranaryProcess.Result run(String machine) throws Exception {
        return granary(online, machine, "run", "--json", manifest.toString());
    }

    private GranaryProcess.Result granary(
            Map<String, String> stores, String machine, String... arguments) throws Exception {
        Map<String, String> variables = new HashMap<>(stores);
        variables.put("GRANARY_DIR", directory.resolve(machine).toString());
        return GranaryProcess.run(variables, arguments);
    }

    /** Returns the entry of the kernel, compiled by a process. */
    private Entry compiled() throws Exception {
        assertEquals(
                1,
                granary(Map.of(), "ci", "run", "--json", manifest.toString()).summary("compiled"));
        StoredEntry stored = StoredEntry.in(directory.resolve("ci")).getFirst();
        return EntryFormat.decode(
                                MemorySegment.ofArray(stored.bytes()),
                                VerificationLevel.CONTENT_HASH)
                        instanceof LoadResult.Hit(Entry entry)
                ? entry
                : fail("the stored entry is damaged");
    }

    /** Returns the entry with its bitcode damaged, behind a container that is sound. */
    private static Entry deadly(Entry good) {
        byte[] binary = good.binaries().toByteArrays().getFirst();
        int bitcode = new String(binary, ISO_8859_1).indexOf(BITCODE);
        assertTrue(bitcode > 0, "PoCL's binary has no bitcode");
        for (int i = bitcode + BITCODE.length(); i < bitcode + DAMAGED_BYTES; i++) {
            binary[i] ^= 0x55;
        }
        KernelBinaries damaged = KernelBinaries.of(binary);
        assertInstanceOf(
                BinaryCompatibility.Compatible.class,
                CompatibilityChecker.check(good.id().target(), damaged));
        return Entry.of(good.id(), damaged, good.compileTime(), good.metadata().orElseThrow());
    }

    private void publishUnpacked(Entry entry) {
        try (BucketTier tier = BucketTier.open(bucket)) {
            assertThat(tier.store(entry)).isStored();
        }
    }

    private void assertInBucket(Entry expected) {
        try (BucketTier tier = BucketTier.open(bucket)) {
            assertThat(tier.load(expected.id())).isHitOf(expected);
        }
    }

    /** Runs the program on a machine: its driver ends it, and the next process compiles. */
    private void diesAndCompiles(String machine) throws Exception {
        GranaryProcess.Result died = run(machine);
        assertEquals(ABORTED, died.exitCode(), died::toString);
        GranaryProcess.Result next = run(machine);
        assertEquals(0, next.exitCode(), next::toString);
        assertEquals(1, next.summary("compiled"), next::toString);
    }

    @Test
    @DisplayName("N7 an entry that ends processes costs one on each machine, which compiles then,"
            + " and stays in the bucket")
    void onePerMachine() throws Exception {
        Entry deadly = deadly(compiled());
        publishUnpacked(deadly);
        diesAndCompiles("a");
        diesAndCompiles("b");
        assertInBucket(deadly);
    }

    /** Returns the entry as one that another machine has compiled. */
    private static Entry foreign(Entry entry) {
        EntryMetadata own = entry.metadata().orElseThrow();
        return Entry.of(
                entry.id(),
                entry.binaries(),
                entry.compileTime(),
                new EntryMetadata(
                        own.libraryVersion(),
                        "another-host/7",
                        own.createdAt(),
                        own.kernels(),
                        own.geometries(),
                        own.readableKey()));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName(
            "N7 with restore-trial, a deadly entry of another machine ends a throw-away process"
                    + " only, and is in quarantine")
    void trial() throws Exception {
        online.put("GRANARY_RESTORE_TRIAL", "foreign");
        Entry good = compiled();
        publishUnpacked(foreign(deadly(good)));
        GranaryProcess.Result first = run("a");
        assertEquals(0, first.exitCode(), first::toString);
        assertEquals(1, first.summary("compiled"), first::toString);
        assertTrue(
                first.err().contains("a process died in the trial of its restore: exit code 134:"),
                first::toString);
        GranaryProcess.Result listed = granary(Map.of(), "a", "quarantine", "list", "--json");
        assertTrue(listed.out().contains(good.id().hash().hex()), listed::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("N7 with restore-trial, a sound entry of another machine is tried once for a"
            + " machine, and an own one never")
    void survivedTrial() throws Exception {
        online.put("GRANARY_RESTORE_TRIAL", "foreign");
        Entry good = compiled();
        publishUnpacked(foreign(good));
        assertHit("a");
        assertEquals(1, passed("a").size());
        FileTime written = Files.getLastModifiedTime(passed("a").getFirst());
        assertEquals(1, run("a").summary("local"));
        assertEquals(written, Files.getLastModifiedTime(passed("a").getFirst()), "tried once");
        GranaryProcess.Result own = granary(online, "ci", "run", "--json", manifest.toString());
        assertEquals(1, own.summary("local"), own::toString);
        assertEquals(List.of(), passed("ci"), "compiled by this host");
    }

    private List<Path> passed(String machine) throws Exception {
        Path recorded = directory.resolve(machine).resolve("passed");
        if (!Files.exists(recorded)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(recorded)) {
            return files.toList();
        }
    }

    private void assertHit(String machine) throws Exception {
        GranaryProcess.Result result = run(machine);
        assertEquals(0, result.exitCode(), result::toString);
        assertEquals(1, result.summary("bucket"), result::toString);
    }
}
