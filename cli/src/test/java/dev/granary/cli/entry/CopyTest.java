package dev.granary.cli.entry;

import static dev.granary.testing.CacheAssertions.assertThat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.util.stream.Collectors.toCollection;

import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cli.Cli;
import dev.granary.cli.Main;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.KeyTexts;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.testing.Await;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Tests of {@code copy} between directories and buckets, on a real server. */
class CopyTest {
    private static final String BUCKET = "s3://kernels/ci";
    private static final String MIRROR = "s3://kernels/mirror";

    private final Path directory;
    private final String from;
    private final String to;
    private final TestFleet fleet;
    private final TestEntries entries = new TestEntries("CopyTest");

    CopyTest(@TempDir Path directory) throws Exception {
        this.directory = directory;
        this.from = directory.resolve("from").toString();
        this.to = directory.resolve("to").toString();
        this.fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    /** Stores entries in a directory as a program does, and returns them. */
    private List<Entry> fill(String at, int count, int bytes) throws Exception {
        List<Entry> all =
                Stream.generate(() -> entries.entry(bytes)).limit(count).toList();
        try (LocalTier tier =
                LocalTier.open(LocalTierConfig.builder(Path.of(at)).build())) {
            all.forEach(tier::store);
        }
        return all;
    }

    private Cli copy(String source, String destination, String... options) {
        List<String> all = new ArrayList<>(List.of("copy", source, destination));
        if (source.startsWith("s3:") || destination.startsWith("s3:")) {
            all.addAll(List.of("--endpoint", fleet.endpoint()));
        }
        all.addAll(List.of(options));
        return Cli.run(all.toArray(String[]::new));
    }

    private JsonObject json(int status, String source, String destination) {
        return copy(source, destination, "--json").exits(status).json();
    }

    private static void assertCounts(
            JsonObject json, int copied, int present, int otherVersion, int failed) {
        assertEquals(
                List.of(copied, present, otherVersion, failed),
                Stream.of("copied", "present", "otherVersion", "failed")
                        .map(name -> json.get(name).getAsInt())
                        .toList(),
                json::toString);
    }

    /** Checks that a directory has these entries as a program sees them, and no others. */
    private static void assertHas(String at, List<Entry> expected) throws Exception {
        try (LocalTier tier =
                LocalTier.open(LocalTierConfig.builder(Path.of(at)).build())) {
            for (Entry entry : expected) {
                assertTrue(tier.load(entry.id()) instanceof LoadResult.Hit(Entry loaded)
                        && loaded.contentHash().equals(entry.contentHash())
                        && loaded.metadata().equals(entry.metadata()));
            }
        }
        assertEquals(hashes(expected), listed(at));
    }

    private static Set<String> hashes(List<Entry> all) {
        return all.stream()
                .map(entry -> entry.id().hash().hex())
                .collect(toCollection(TreeSet::new));
    }

    private static Set<String> listed(String at) throws IOException {
        Set<String> hashes = new TreeSet<>();
        EntryFiles.in(Path.of(at)).list(listed -> hashes.add(listed.hash().hex()));
        return hashes;
    }

    @Test
    @DisplayName(
            "copy pushes, pulls, mirrors, and copies directories; in packs; a second copy finds"
                    + " all entries there")
    void fourDirections() throws Exception {
        List<Entry> all = fill(from, 30, 1000);
        assertCounts(json(0, from, BUCKET), 30, 0, 0, 0);
        assertEquals(1, fleet.keys("/p/").size(), "one pack");
        assertEquals(List.of(), fleet.keys("/e/"), "no unpacked entry");
        assertCounts(json(0, from, BUCKET), 0, 30, 0, 0);
        assertCounts(json(0, BUCKET, to), 30, 0, 0, 0);
        assertHas(to, all);
        assertCounts(json(0, BUCKET, to), 0, 30, 0, 0);
        assertCounts(json(0, BUCKET, MIRROR), 30, 0, 0, 0);
        assertCounts(json(0, BUCKET, MIRROR), 0, 30, 0, 0);
        String third = directory.resolve("third").toString();
        assertCounts(json(0, MIRROR, third), 30, 0, 0, 0);
        assertHas(third, all);
        assertCounts(json(0, third, directory.resolve("new/fourth").toString()), 30, 0, 0, 0);
        assertHas(directory.resolve("new/fourth").toString(), all);
        assertCounts(json(0, third, from), 0, 30, 0, 0);
    }

    @Test
    @DisplayName("copy --sign signs what is there, by the key of the environment only")
    void signed() throws Exception {
        List<Entry> all = fill(from, 3, 1000);
        copy(from, to, "--sign").exits(2).reports("GRANARY_SIGNING_KEY");
        KeyTexts.Pair keys = KeyTexts.create("ci");
        Cli.of(ChildJvm.of(Main.class)
                        .shortLived()
                        .variables(Map.of("GRANARY_SIGNING_KEY", keys.privateKey()))
                        .run("copy", from, to, "--sign"))
                .exits(0);
        TrustPolicy policy = GranaryConfig.builder()
                .trust("warn")
                .trustedKeys(keys.publicKey())
                .build()
                .localTrust();
        try (LocalTier tier =
                LocalTier.open(LocalTierConfig.builder(Path.of(to)).build())) {
            for (Entry entry : all) {
                assertEquals(
                        Optional.empty(),
                        policy.objection(assertThat(tier.load(entry.id())).isHit()));
            }
        }
    }

    @Test
    @DisplayName("copy adds what is missing to a directory in use, and reads unpacked entries, too")
    void addsMissing() throws Exception {
        List<Entry> all = fill(from, 5, 1000);
        fleet.publish(all);
        fleet.publishUnpacked(List.of(entries.entry(500)));
        copy(BUCKET, from).exits(0).isNarrow().prints("from       " + BUCKET, "copied", "present");
        assertEquals(6, listed(from).size());
        Cli.run("verify", "--dir", from).exits(0).prints("No damage found");
    }

    @Test
    @DisplayName("--target, --id and --older-than select entries; a selection of none ends with 1")
    void selection() throws Exception {
        List<Entry> all = fill(from, 3, 1000);
        try (LocalTier tier =
                LocalTier.open(LocalTierConfig.builder(Path.of(from)).build())) {
            tier.store(entries.entry(
                    Id.builder(TestEntries.OTHER_TARGET).field("source", "o").build(), 10));
        }
        copy(from, to, "--target", TestEntries.TARGET.path()).exits(0);
        assertEquals(hashes(all), listed(to));
        copy(from, to, "--target", "opencl/mistyped")
                .exits(1)
                .reports(from + " has no entries that were selected to copy");
        copy("s3://kernels/empty", to).exits(1).reports("has no entries to copy");
    }

    @Test
    @DisplayName("An entry that is damaged, foreign, or under the name of another id is copied"
            + " nowhere: exit code 1, and the others are copied")
    void damagedSource() throws Exception {
        List<Entry> all = fill(from, 8, 1000);
        List<StoredEntry> stored = StoredEntry.in(Path.of(from));
        byte[] flipped = stored.get(0).bytes();
        flipped[flipped.length - 1] ^= 1;
        stored.get(0).overwrite(flipped);
        stored.get(1).overwrite("no entry".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        stored.get(2).overwrite(stored.get(7).bytes());
        stored.get(3).overwrite(new byte[0]);
        byte[] later = stored.get(4).bytes();
        TestEntries.setLaterVersion(later, 0);
        stored.get(4).overwrite(later);
        Files.writeString(stored.get(5).file().resolveSibling("README"), "foreign, ignored");
        for (String destination : List.of(to, BUCKET)) {
            assertCounts(json(1, from, destination), 3, 0, 1, 4);
        }
        Cli text = copy(from, directory.resolve("text").toString()).exits(1).isNarrow();
        text.prints("failed", "of other versions", "corrupt: ", "foreign: ", "wrong key: ");
        JsonObject failures = json(1, from, directory.resolve("json").toString());
        assertEquals(4, failures.getAsJsonArray("failures").size());
        assertEquals(3, listed(to).size());
        Cli.run("verify", "--dir", to).exits(0);
        assertCounts(json(0, BUCKET, directory.resolve("back").toString()), 3, 0, 0, 0);
        assertEquals(8, all.size());
    }

    @Test
    @DisplayName("An entry that is damaged in the bucket is copied nowhere; one that is damaged in"
            + " the destination directory is replaced")
    void damagedElsewhere() throws Exception {
        List<Entry> all = Stream.generate(() -> entries.entry(1000)).limit(3).toList();
        fleet.publishUnpacked(all);
        fleet.change(fleet.keys("/e/").getFirst(), bytes -> {
            bytes[bytes.length - 1] ^= 1;
            return bytes;
        });
        assertCounts(json(1, BUCKET, to), 2, 0, 0, 1);
        assertCounts(json(1, BUCKET, MIRROR), 2, 0, 0, 1);
        StoredEntry.in(Path.of(to)).getFirst().overwrite(new byte[10]);
        assertCounts(json(1, BUCKET, to), 1, 1, 0, 1);
        Cli.run("verify", "--dir", to).exits(0);
    }

    @Test
    @DisplayName("verify and ls work on any place: a directory, or a bucket that is named")
    void placesElsewhere() throws Exception {
        fill(from, 3, 1000);
        copy(from, BUCKET).exits(0);
        fleet.publishUnpacked(List.of(entries.entry(500), entries.entry(600)));
        Cli.run("ls", from).exits(0).prints("3 entries", "in " + from);
        Cli.run("ls", BUCKET, "--endpoint", fleet.endpoint()).exits(0).prints("5 entries");
        Cli.run("ls", BUCKET, "--long", "--endpoint", fleet.endpoint()).exits(2);
        Cli.run("ls", directory.resolve("none").toString()).exits(2);
        Cli.run("verify", from).exits(0).prints(from, "No damage found");
        Cli.run("verify", BUCKET, "--endpoint", fleet.endpoint())
                .exits(0)
                .isNarrow()
                .prints("sound      5", "failed     0");
        fleet.change(fleet.keys("/e/").getFirst(), _ -> new byte[7]);
        Cli damaged = Cli.run("verify", BUCKET, "--endpoint", fleet.endpoint()).exits(1);
        damaged.isNarrow().prints("sound      4", "failed     1", "damaged: ");
        JsonObject json = Cli.run("verify", BUCKET, "--json", "--endpoint", fleet.endpoint())
                .exits(1)
                .json();
        assertEquals(4, json.get("sound").getAsInt());
        Cli.run("verify", BUCKET, "--repair", "--endpoint", fleet.endpoint()).exits(2);
        Cli.run("verify", from, "--endpoint", fleet.endpoint()).exits(2);
        Cli.run("verify", "https://a/b").exits(2);
    }

    @Test
    @DisplayName(
            "A destination that cannot be written fails each entry: exit code 1, and nothing of"
                    + " them is there")
    void unwritable() throws Exception {
        fill(from, 5, 1000);
        Files.createDirectory(Path.of(to));
        Files.writeString(Path.of(to).resolve("v3"), "in the way");
        copy(from, to).exits(1).isNarrow().prints("copied", "failed");
        assertCounts(json(1, from, "/proc/granary"), 0, 0, 0, 5);
        fleet.plan(FaultPlan.when(
                request -> request.operation().startsWith("PUT"), new Fault.Lost(Fault.DENIED)));
        assertCounts(json(1, from, BUCKET), 0, 0, 0, 5);
        assertEquals(List.of(), fleet.keys("/e/"));
        fleet.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(Fault.DENIED)));
        copy(from, BUCKET).exits(1).reports("cannot be listed", BUCKET, "AccessDenied");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "copy",
                "copy a",
                "copy a b c",
                "copy /nonexistent b",
                "copy /proc b",
                "copy /etc/passwd b",
                "copy ~/a b",
                "copy s3://abc ~",
                "copy file:///a b",
                "copy https://a/b c",
                "copy s3://kernels/ci s3://kernels/ci",
                "copy s3://abc,s3://abd c",
                "copy s3://a c",
                "copy s3://abc /etc/passwd",
                "copy s3://abc s3://abd?access=read",
                "copy s3://abc c --older-than soon",
                "copy s3://abc c --bucket s3://abd",
                "copy s3://abc c --dir d"
            })
    @DisplayName("Wrong usage of copy ends with 2 and a message, and copies nothing")
    void wrongUsage(String arguments) {
        Cli result = Cli.run(arguments.split(" ")).exits(2);
        assertEquals("", result.out());
        assertFalse(result.err().isBlank());
    }

    @Test
    @DisplayName("A directory cannot be copied into itself, by any of its names")
    void intoItself() throws Exception {
        fill(from, 1, 10);
        copy(from, from + "/../from").exits(2).reports("the same place");
        Path link = Files.createSymbolicLink(directory.resolve("link"), Path.of(from));
        assertCounts(json(0, link.toString(), from), 0, 1, 0, 0);
        copy(from + "/v3", to).exits(2).reports("has no subdirectory v3");
    }

    @Test
    @DisplayName("a killed copy leaves only complete entries, and the next one adds the others")
    void killed() throws Exception {
        List<Entry> all = fill(from, 150, 100_000);
        ChildJvm.Recording copy = ChildJvm.of(Main.class).shortLived().record("copy", from, to);
        Await.holds(() -> !copy.process().isAlive() || listed(to).size() >= 20);
        copy.process().destroyForcibly().waitFor();
        copy.end();
        int whole = listed(to).size();
        assertTrue(IntStream.range(20, 151).anyMatch(each -> each == whole), () -> whole + "");
        Cli.run("verify", "--dir", to).exits(0).prints("No damage found");
        assertCounts(json(0, from, to), 150 - whole, whole, 0, 0);
        assertHas(to, all);
    }
}
