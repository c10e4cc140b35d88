package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.Cli;
import dev.granary.coordinator.LaterServer;
import dev.granary.coordinator.TestFleet;
import dev.granary.s3.BucketTier;
import dev.granary.s3.BulkBucket;
import dev.granary.s3.UseNotes;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.WriteResult;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Tests of {@code collect} on a real server: its table, its JSON, its exit codes, and pins. */
class CollectCommandTest {
    private static final String BUCKET = "s3://kernels/ci";
    private static final Duration AHEAD = Duration.ofDays(3);

    private final Path directory;
    private final TestFleet fleet;
    private final LaterServer later;
    private final TestEntries entries = new TestEntries("CollectCommandTest");
    private final List<Entry> packed = some(4);
    private final List<Entry> unpacked = some(2);

    CollectCommandTest(@TempDir Path directory) throws Exception {
        this.directory = directory;
        this.fleet = new TestFleet(directory);
        this.later = new LaterServer(fleet.endpoint(), AHEAD);
    }

    @BeforeEach
    void publish() {
        fleet.publish(packed);
        fleet.publishUnpacked(unpacked);
    }

    @AfterEach
    void stop() throws Exception {
        later.close();
        fleet.close();
    }

    private List<Entry> some(int count) {
        return Stream.generate(() -> entries.entry(1000)).limit(count).toList();
    }

    private Cli collect(String... options) {
        return collectAt(later.endpoint(), options);
    }

    private Cli collectAt(String endpoint, String... options) {
        List<String> all = new ArrayList<>(List.of("collect", BUCKET, "--endpoint", endpoint));
        all.addAll(List.of("--dir", directory.resolve("own").toString()));
        all.addAll(List.of(options));
        return Cli.run(all.toArray(String[]::new)).isNarrow();
    }

    private BucketTier bucket() {
        return BucketTier.open(S3Config.builder("kernels")
                .prefix("ci")
                .endpoint(URI.create(fleet.endpoint()))
                .credentials(
                        System.getProperty("aws.accessKeyId"),
                        System.getProperty("aws.secretAccessKey"))
                .build());
    }

    private static LocalDate today() {
        return LocalDate.now(ZoneOffset.UTC).plusDays(AHEAD.toDays());
    }

    private void note(int daysAgo, List<Entry> used) {
        long[] ids = used.stream()
                .mapToLong(entry -> entry.id().hash().prefix())
                .sorted()
                .toArray();
        try (BucketTier tier = bucket()) {
            WriteResult written = tier.useNotes()
                    .write(new UseNotes.UseNote(
                            today().minusDays(daysAgo),
                            "0123456789abcdef",
                            new TreeMap<>(Map.of(TestFleet.NAMESPACE, ids)),
                            Map.of()));
            assertTrue(written instanceof WriteResult.Done, written::toString);
        }
    }

    private void pin(String name, List<Entry> pinned) {
        try (BucketTier tier = bucket();
                BulkBucket bulk = tier.packed()) {
            bulk.pins().write(name, pinned.stream().map(Entry::id).toList());
        }
    }

    private long listed() {
        return Cli.run("ls", BUCKET, "--endpoint", fleet.endpoint(), "--json")
                .exits(0)
                .json()
                .getAsJsonArray("entries")
                .size();
    }

    @Test
    @DisplayName("a dry run shows what would leave and changes nothing; --delete does it, and says"
            + " when the bytes go")
    void collects() {
        note(100, List.of());
        note(1, packed.subList(0, 1));
        pin("product", unpacked.subList(0, 1));
        Cli dry = collect()
                .exits(0)
                .prints(
                        "in  " + BUCKET,
                        "4 entries (",
                        ") would leave, 2 entries (",
                        "1 entry (",
                        ") stay as pinned",
                        "nothing was removed; --delete does it");
        assertEquals("", dry.err());
        assertEquals(6, listed());
        JsonObject json = collect("--json").exits(0).json();
        assertEquals(4, json.get("leaving").getAsInt());
        assertEquals(2, json.get("staying").getAsInt());
        assertEquals(1, json.get("pinned").getAsInt());
        assertFalse(json.get("deleted").getAsBoolean());
        assertTrue(json.get("healthy").getAsBoolean());
        assertTrue(json.get("knowsUnused").getAsBoolean());
        JsonObject target = json.getAsJsonArray("targets").get(0).getAsJsonObject();
        assertEquals(TestFleet.NAMESPACE, target.get("target").getAsString());
        assertEquals(750, target.get("leavingCompileMillis").getAsInt());
        collect("--delete")
                .exits(0)
                .prints(
                        "4 entries (",
                        ") left, 2 entries (",
                        "1 object removed",
                        " replaced; their bytes go in one of the next two runs");
        assertEquals(2, listed());
        json = collect("--delete", "--json").exits(0).json();
        assertEquals(0, json.get("leaving").getAsInt());
        assertTrue(json.get("waitingObjects").getAsInt() > 0);
    }

    @Test
    @DisplayName("entries younger than a day stay, and the output has their number")
    void young() {
        note(100, List.of());
        collectAt(fleet.endpoint(), "--delete")
                .exits(0)
                .prints("0 entries (0 B) left", "6 entries (", " stay, younger than a day");
        assertEquals(6, listed());
    }

    @Test
    @DisplayName("without old notes nothing is known to be unused, and the output has the date from"
            + " which it is")
    void unknown() {
        collect().exits(0).prints("what is unused is not known: no machine has noted its uses");
        note(10, List.of());
        Cli plain = collect("--unused", "30d", "--delete").exits(0);
        plain.prints("known from " + today().plusDays(20));
        JsonObject json = collect("--json").exits(0).json();
        assertEquals(today().plusDays(80).toString(), json.get("knownFrom").getAsString());
        assertEquals(6, listed());
    }

    @Test
    @DisplayName("over a budget entries leave; if pinned ones alone exceed it, the exit code is 1")
    void budget() {
        pin("all", packed);
        collect("--budget", "1KiB", "--delete")
                .exits(1)
                .prints(") of those that leave are over the budget")
                .reports("more than the budget");
        assertEquals(4, listed());
        collect("--unpin", "all").exits(0).prints("pin all removed");
        collect("--budget", "0", "--delete").exits(0);
        assertEquals(0, listed());
    }

    @Test
    @DisplayName("--all takes the entries of the targets that begin so, and needs --target")
    void all() {
        collect("--all").exits(2).reports("--all needs --target");
        collect("--all", "--target", "level-zero", "--delete")
                .exits(0)
                .prints("0 entries (0 B) left");
        collect("--all", "--target", "opencl/", "--delete").exits(0).prints("6 entries (");
        assertEquals(0, listed());
    }

    @Test
    @DisplayName("pins are listed and removed; a damaged one stops the collection with its name")
    void pins() {
        note(100, List.of());
        pin("nightly", packed);
        JsonObject pin = collect("--pins", "--json")
                .exits(0)
                .json()
                .getAsJsonArray("pins")
                .get(0)
                .getAsJsonObject();
        assertEquals("nightly", pin.get("name").getAsString());
        assertEquals(4, pin.get("entries").getAsInt());
        collect("--pins").exits(0).prints("nightly", TestFleet.NAMESPACE.substring(0, 10));
        fleet.place("ci/pin/damaged", "granary pin 1\n");
        collect("--delete").exits(1).reports("pin damaged is damaged");
        assertEquals(6, listed());
        collect("--unpin", "damaged").exits(0);
        collect("--unpin", "damaged").exits(1).reports("there is no pin damaged");
        collect("--delete").exits(0).prints("4 entries (");
    }

    @Test
    @DisplayName("wrong options end with 2 and the remedy")
    void misuse() {
        collect("--unused", "12h").exits(2).reports("at least 1d");
        collect("--pins", "--delete").exits(2).reports("give them alone");
        collect("--unpin", "No").exits(2).reports("is not the name of a pin");
        Cli.run("populate", "k.toml", "--pin", ".x").exits(2).reports("lower-case letters");
    }
}
