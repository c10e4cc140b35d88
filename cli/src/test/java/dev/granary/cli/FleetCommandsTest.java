package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cli.entry.Place;
import dev.granary.coordinator.TestFleet;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.s3.store.StoreFailure;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Tests of {@code warm}, {@code compact}, and of {@code ls}, {@code stats} and {@code inspect} with
 * packs, on a real server.
 */
class FleetCommandsTest {
    private static final String TARGET = TestEntries.TARGET.path();

    private static final StoreFailure ABSENT =
            new StoreFailure(StoreFailure.Kind.SERVER, 404, "NoSuchKey", "");

    private final Path directory;
    private final TestFleet fleet;
    private final TestEntries entries = new TestEntries("FleetCommandsTest");

    FleetCommandsTest(@TempDir Path directory) throws Exception {
        this.directory = directory;
        this.fleet = new TestFleet(directory);
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private List<Entry> some(int count, int bytes) {
        return Stream.generate(() -> entries.entry(bytes)).limit(count).toList();
    }

    private Cli run(String machine, String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of(
                "--dir", directory.resolve(machine).toString(), "--endpoint", fleet.endpoint()));
        if (!all.contains("compact")) {
            all.add("--bucket");
        }
        all.add("s3://kernels/ci");
        return Cli.run(all.toArray(String[]::new));
    }

    private Cli bucket(String command, String... options) {
        List<String> all = new ArrayList<>(List.of(command, "s3://kernels/ci"));
        all.addAll(List.of("--endpoint", fleet.endpoint()));
        all.addAll(List.of(options));
        return Cli.run(all.toArray(String[]::new));
    }

    @Test
    @DisplayName("warm reports what it installed, with nothing on standard error; again it receives"
            + " nothing")
    void warm() {
        fleet.publish(some(30, 1000));
        fleet.publishUnpacked(some(2, 1000));
        Cli text = run("a", "warm", "--target", TARGET)
                .exits(0)
                .prints(
                        "from s3://kernels/ci at " + fleet.endpoint(),
                        "for  " + TARGET,
                        "installed  32 entries (",
                        "present    0",
                        "skipped    0",
                        "2 entries needed a request each; granary compact");
        text.isNarrow();
        assertEquals("", text.err());
        run("a", "warm", "--target", TARGET)
                .exits(0)
                .prints("installed  0 entries (0 B)", "present    32", "received   0 B");
        Cli.run("ls", "--dir", directory.resolve("a").toString()).exits(0).prints("32 entries");
    }

    @Test
    @DisplayName("warm --packs-only leaves unpacked entries")
    void warmPacksOnly() {
        fleet.publish(some(30, 100));
        fleet.publishUnpacked(some(2, 100));
        run("a", "warm", "--target", TARGET, "--packs-only").exits(0).prints("30 entries (");
    }

    @Test
    @DisplayName("warm reports a named target without entries in one line, and ends with 1")
    void warmAbsentTarget() {
        fleet.publish(some(3, 100));
        Cli both = run(
                        "a",
                        "warm",
                        "--json",
                        "--target",
                        TARGET,
                        "--target",
                        "opencl/absent-target")
                .exits(1)
                .reports(
                        "no entry for opencl/absent-target is in s3://kernels/ci",
                        "granary ls s3://");
        assertEquals(1, both.err().lines().count(), both.err());
        assertEquals(
                List.of(3, 0),
                both.json().getAsJsonArray("warmed").asList().stream()
                        .map(one -> one.getAsJsonObject().get("installed").getAsInt())
                        .toList());
        Cli nothing = run("b", "warm", "--target", "opencl/absent-target")
                .exits(1)
                .prints("installed  0 entries (0 B)")
                .reports("no entry for opencl/absent-target");
        assertEquals(1, nothing.err().lines().count(), nothing.err());
    }

    @Test
    @DisplayName("warm reports entries that it could not fetch or keep, with the reason; exit"
            + " code 1 if any could not be fetched")
    void warmInPart() {
        fleet.publish(some(60, 100 << 10));
        Cli small = run("small", "warm", "--target", TARGET, "--capacity", "2MiB")
                .exits(0)
                .reports(
                        " evicted from " + directory.resolve("small") + " again",
                        "its capacity of 2.0 MiB",
                        "--capacity");
        assertEquals(1, small.err().lines().count(), small.err());
        fleet.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(Fault.DENIED)));
        run("node", "warm", "--target", TARGET)
                .exits(1)
                .prints("60 entries (")
                .reports("could not be listed", "s3:ListBucket", "--packs-only");
        fleet.plan(FaultPlan.when(
                request -> request.operation().equals("LIST"), new Fault.Lost(Fault.SLOW_DOWN)));
        Cli throttled = run("node", "warm", "--target", TARGET)
                .exits(1)
                .reports("could not be listed", "SlowDown", "warm again later", "--packs-only");
        assertFalse(throttled.err().contains("s3:ListBucket"), throttled.err());
        run("node", "warm", "--target", TARGET, "--packs-only").exits(0).prints("present    60");
        fleet.plan(FaultPlan.when(
                request -> request.key().contains("/p/"), new Fault.Lost(Fault.DENIED)));
        run("other", "warm", "--target", TARGET, "--packs-only")
                .exits(1)
                .prints(
                        "skipped    60",
                        "a pack cannot be read: it is not there, or must not be read: 403");
    }

    @Test
    @DisplayName("ls, stats and inspect of the bucket show the entries in packs of every target,"
            + " and those that are also unpacked once")
    void inspect() {
        List<Entry> packed = some(5, 100);
        fleet.publishUnpacked(packed.subList(4, 5));
        fleet.publish(packed);
        fleet.publish(List.of(TestEntries.entry(
                Id.builder(TestEntries.OTHER_TARGET).field("test", "other").build(),
                KernelBinaries.of(new byte[9]))));
        bucket("ls").exits(0).prints(TARGET, TestEntries.OTHER_TARGET.path(), "6 entries");
        bucket("ls", "--target", TARGET).exits(0).prints("5 entries");
        assertTrue(bucket("stats")
                .exits(0)
                .prints("entries    6")
                .out()
                .replaceAll(" +", " ")
                .contains(TARGET + "\nentries size compile time nodes last use saved\n5 "));
        run("a", "inspect", packed.getFirst().id().hash().hex())
                .exits(0)
                .prints("intact", "250 ms");
        fleet.plan(FaultPlan.when(
                request -> request.key().endsWith("/head"), new Fault.Lost(Fault.DENIED)));
        Cli denied = bucket("ls").exits(1).reports("cannot be listed", "the head");
        assertEquals(1, denied.err().lines().count(), denied.err());
    }

    @Test
    @DisplayName("compact: a dry run changes nothing; then unpacked entries are in a pack; the"
            + " grace period is kept")
    void compact() {
        fleet.publishUnpacked(some(7, 1000));
        List<String> before = fleet.keys("");
        run("a", "compact", "--target", TARGET, "--dry-run")
                .exits(0)
                .prints("in  s3://kernels/ci", "7 entries (", "would be moved into packs")
                .isNarrow();
        assertEquals(
                7,
                run("a", "compact", "--target", TARGET, "--dry-run", "--json")
                        .exits(0)
                        .json()
                        .getAsJsonArray("targets")
                        .get(0)
                        .getAsJsonObject()
                        .get("packed")
                        .getAsInt());
        assertEquals(before, fleet.keys(""));
        Cli done = bucket("compact", "--target", TARGET)
                .exits(0)
                .prints("7 entries in 1 new pack, 0 objects removed")
                .isNarrow();
        assertEquals("", done.err());
        assertEquals(
                List.of(7, 1),
                List.of(fleet.keys("/e/").size(), fleet.keys("/p/").size()));
        run("a", "compact", "--target", TARGET, "--dry-run")
                .exits(0)
                .prints("nothing to do", "7 objects not used any more: removed by a compact after");
        run("a", "compact", "--target", TARGET)
                .exits(0)
                .prints("0 entries in 0 new packs, 0 objects removed");
        fleet.plan(FaultPlan.when(
                request -> request.operation().startsWith("DELETE"), new Fault.Lost(Fault.DENIED)));
        run("a", "compact", "--target", TARGET, "--grace", "0s")
                .exits(1)
                .prints("0 objects removed", "7 objects could not be removed", "s3:DeleteObject");
        fleet.plan(FaultPlan.SOUND);
        JsonObject json = run("a", "compact", "--target", TARGET, "--grace", "0s", "--json")
                .exits(0)
                .json();
        JsonObject target = json.getAsJsonArray("targets").get(0).getAsJsonObject();
        assertEquals(
                List.of(7, 0, 0),
                Stream.of("removed", "unremoved", "left")
                        .map(name -> target.get(name).getAsInt())
                        .toList());
        assertTrue(json.get("healthy").getAsBoolean(), json::toString);
        assertEquals(0, fleet.keys("/e/").size());
        run("b", "warm", "--target", TARGET).exits(0).prints("7 entries (");
        run("a", "compact", "--target", "opencl/absent-target")
                .exits(0)
                .prints("0 entries in 0 new packs");
        assertEquals(List.of(), fleet.keys("absent-target"));
    }

    @Test
    @DisplayName("compact --without leaves an entry out of packs and unpacked entries, whose kernel"
            + " is then compiled again; an id that is nowhere ends with 1")
    void without() {
        List<Entry> all = some(4, 100);
        fleet.publish(all.subList(0, 3));
        fleet.publishUnpacked(all.subList(2, 4));
        for (Entry bad : all.subList(2, 4)) {
            String id = bad.id().hash().hex();
            run("a", "compact", "--target", TARGET, "--without", id.substring(0, 16))
                    .exits(0)
                    .prints("1 entry left out");
            run("none", "inspect", id).exits(1);
            run("a", "compact", "--target", TARGET, "--without", id)
                    .exits(1)
                    .reports("has no entry with such an id");
        }
        run("a", "compact", "--target", TARGET, "--without", "12").exits(2).reports("is too short");
        run("node", "warm", "--target", TARGET).exits(0).prints("2 entries (");
    }

    @Test
    @DisplayName("compact --adopt names the packs again that a removed head named")
    void adopt() {
        fleet.publish(some(3, 100));
        fleet.remove("/head");
        run("a", "warm", "--target", TARGET).exits(1).prints("0 entries (");
        run("a", "compact", "--target", TARGET, "--adopt").exits(0).prints("1 pack adopted");
        run("b", "warm", "--target", TARGET).exits(0).prints("3 entries (");
    }

    private static byte[] changedAtEnd(byte[] bytes) {
        bytes[bytes.length - 1] ^= 1;
        return bytes;
    }

    private JsonObject compacted(int exits) {
        return run("a", "compact", "--target", TARGET, "--json")
                .exits(exits)
                .json()
                .getAsJsonArray("targets")
                .get(0)
                .getAsJsonObject();
    }

    private static List<Integer> counts(JsonObject target) {
        return Stream.of("packed", "left", "damaged", "unread", "tooLarge", "otherVersion")
                .map(name -> target.get(name).getAsInt())
                .toList();
    }

    @Test
    @DisplayName("compact with damaged entries: counted, listed and exit code 1, until they are"
            + " removed; unreadable entries are counted separately")
    void compactDamaged() {
        fleet.publishUnpacked(some(12, 100));
        List<String> keys = fleet.keys("/e/");
        keys.forEach(key -> fleet.change(key, FleetCommandsTest::changedAtEnd));
        Cli text = run("a", "compact", "--target", TARGET)
                .exits(1)
                .prints(
                        "0 entries in 0 new packs",
                        "12 entries left unpacked: damaged; remove the objects",
                        "s3://kernels/" + keys.getFirst(),
                        "and 2 more; --json lists all");
        assertEquals(
                10,
                text.out()
                        .lines()
                        .filter(line -> line.startsWith("  s3://kernels/ci/v2/"))
                        .count(),
                text.out());
        JsonObject json = compacted(1);
        assertEquals(List.of(0, 12, 12, 0, 0, 0), counts(json));
        assertEquals(
                keys.stream().map(key -> "s3://kernels/" + key).toList(),
                json.getAsJsonArray("damagedObjects").asList().stream()
                        .map(JsonElement::getAsString)
                        .sorted()
                        .toList());
        fleet.remove(keys.getFirst().substring(keys.getFirst().lastIndexOf('/')));
        assertEquals(List.of(0, 11, 11, 0, 0, 0), counts(compacted(1)));
        fleet.remove("/e/");
        fleet.publishUnpacked(some(3, 100));
        fleet.plan(FaultPlan.when(
                request ->
                        request.operation().startsWith("GET") && request.key().contains("/e/"),
                new Fault.Lost(Fault.DENIED)));
        run("a", "compact", "--target", TARGET)
                .exits(1)
                .prints("3 entries left: cannot be read now; compact again");
        fleet.plan(FaultPlan.when(
                request ->
                        request.operation().startsWith("GET") && request.key().contains("/e/"),
                new Fault.Lost(ABSENT)));
        run("a", "compact", "--target", TARGET)
                .exits(1)
                .prints("3 entries listed, but removed meanwhile");
        fleet.plan(FaultPlan.SOUND);
        assertEquals(List.of(3, 0, 0, 0, 0, 0), counts(compacted(0)));
    }

    private void changeMarker(String old, String replacement) {
        String marker = fleet.keys("granary.json").getFirst();
        fleet.change(marker, bytes -> {
            String text = new String(bytes, UTF_8);
            assertTrue(text.contains(old), text);
            return text.replace(old, replacement).getBytes(UTF_8);
        });
    }

    /** Returns the writes and deletions since the last call, without those of a probe. */
    private List<String> changes() {
        return fleet.requests().stream()
                .filter(request -> request.startsWith("PUT") || request.startsWith("DELETE"))
                .filter(request -> !request.endsWith("marker") && !request.contains("trial/"))
                .toList();
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(strings = {"NONE", "CREATE_ONLY", "unknown"})
    @DisplayName("compact changes nothing on a server that is not known to honour conditions")
    void compactWithoutConditions(String writes) {
        fleet.publish(some(3, 100));
        fleet.publish(some(2, 100));
        fleet.publishUnpacked(some(3, 100));
        if (writes.equals("unknown")) {
            fleet.plan(FaultPlan.when(
                    request -> request.key().endsWith("granary.json"),
                    new Fault.Lost(Fault.DENIED)));
        } else {
            changeMarker("\"FULL\"", '"' + writes + '"');
        }
        fleet.requests();
        run("a", "compact", "--target", TARGET, "--grace", "0s")
                .exits(1)
                .reports("s3://kernels/ci at", "is not compacted: ");
        assertEquals(List.of(), changes());
    }

    @Test
    @DisplayName("compact keeps unpacked copies on a server that ignores the condition of a"
            + " deletion")
    void compactWithoutConditionalDelete() {
        fleet.publishUnpacked(some(7, 100));
        changeMarker("\"HONOURED\"", "\"NOT_HONOURED\"");
        run("a", "compact", "--target", TARGET).exits(0).prints("7 entries in 1 new pack");
        fleet.requests();
        run("a", "compact", "--target", TARGET, "--grace", "0s")
                .exits(0)
                .prints("0 objects removed", "7 objects not used any more");
        assertEquals(
                List.of(),
                changes().stream().filter(each -> each.startsWith("DELETE")).toList());
        assertEquals(7, fleet.keys("/e/").size());
    }

    @Test
    @DisplayName("compact names each pack that is damaged as a whole, drops one of them, and ends"
            + " with 1")
    void compactLostPacks() {
        for (int i = 0; i < 3; i++) {
            fleet.publish(some(2, 100));
        }
        fleet.keys("/p/")
                .subList(0, 2)
                .forEach(pack -> fleet.change(pack, bytes -> new byte[bytes.length]));
        JsonObject json =
                run("a", "compact", "--target", TARGET, "--json").exits(1).json();
        JsonObject target = json.getAsJsonArray("targets").get(0).getAsJsonObject();
        assertFalse(json.get("healthy").getAsBoolean(), json::toString);
        assertEquals(2, target.getAsJsonArray("lostPacks").size(), json::toString);
        run("a", "compact", "--target", TARGET, "--dry-run").exits(0).prints("1 pack missing");
    }

    @Test
    @DisplayName("stats of the bucket show neither counters nor capacity of this machine")
    void statsOfBucket() {
        fleet.publish(some(3, 100));
        Cli text = bucket("stats").exits(0).prints("entries    3");
        assertFalse(text.out().contains("rocess") || text.out().contains("compiled"), text.out());
        assertEquals(
                Set.of("place", "entries", "bytes", "nodes", "savedMillis", "targets"),
                bucket("stats", "--json").exits(0).json().keySet());
    }

    @Test
    @DisplayName("ls and stats accept sizes whose sum overflows, and names that point elsewhere")
    void strangeListing() {
        List<EntryCatalog.Listed> entries = List.of(
                new EntryCatalog.Listed(
                        "opencl/x",
                        new TestEntries("strange").entry(1).id().hash(),
                        Long.MAX_VALUE,
                        1),
                new EntryCatalog.Listed(
                        "opencl/x", new TestEntries("strange").entry(1).id().hash(), 16, 1));
        assertEquals(Long.MAX_VALUE, Place.bytes(entries));
        for (String target : List.of("opencl/..", "opencl/.", "opencl/.hidden")) {
            run("a", "warm", "--target", target).exits(2).reports("--target must be such as");
        }
    }
}
