package dev.granary.it;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.cache.Entry;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.EntryFormat.VerificationLevel;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.s3.BucketTier;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.TestS3;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

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
        return granary(online, machine, "get", "--json", manifest.toString());
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
                granary(Map.of(), "ci", "get", "--json", manifest.toString()).summary("compiled"));
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

    /** Runs the program on a machine, whose driver ends it. */
    private void dies(String machine) throws Exception {
        GranaryProcess.Result died = run(machine);
        assertEquals(ABORTED, died.exitCode(), died::toString);
    }

    @Test
    @DisplayName("an entry that ends processes costs one on each machine, which compiles then,"
            + " and stays in the bucket")
    void onePerMachine() throws Exception {
        Entry deadly = deadly(compiled());
        publishUnpacked(deadly);
        dies("a");
        GranaryProcess.Result next = run("a");
        assertEquals(0, next.exitCode(), next::toString);
        assertEquals(1, next.summary("compiled"), next::toString);
        dies("b");
        assertInBucket(deadly);
    }
}
