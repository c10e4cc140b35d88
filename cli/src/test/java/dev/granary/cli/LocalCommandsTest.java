package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.util.stream.Collectors.toSet;

import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Tests of the commands on the local directory, with a real one. */
class LocalCommandsTest {
    private static final Target OLD = new Target(Backend.OPENCL, "vendor", "Device 9000", "1.0");
    private static final Target NEW = new Target(Backend.OPENCL, "vendor", "Device 9000", "2.0");
    private static final int BYTES = 2000;

    private final Path directory;
    private final String local;

    LocalCommandsTest(@TempDir Path directory) {
        this.directory = directory;
        this.local = directory.resolve("local").toString();
    }

    /**
     * Runs a command on the directory of this test. Columns of its output are separated by one
     * space.
     */
    private Cli run(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--dir", local));
        Cli ended = Cli.run(all.toArray(String[]::new));
        if (all.stream().noneMatch(List.of("--json", "inspect", "doctor")::contains)) {
            new Cli(0, ended.out().replace(directory.toString(), ""), "").isNarrow();
        }
        return new Cli(ended.status(), ended.out().replaceAll(" +", " "), ended.err());
    }

    private String store(Target target, String name, int bytes, Duration ago, Duration compileTime)
            throws Exception {
        Instant then = Instant.now().minus(ago);
        Id id = Id.builder(target).field("source", name).build();
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(Path.of(local))
                .clock(() -> then)
                .background(Runnable::run)
                .build())) {
            byte[] binary = new byte[bytes];
            byte[] mark = mark(name);
            System.arraycopy(mark, 0, binary, 0, mark.length);
            tier.store(Entry.of(
                    id,
                    KernelBinaries.of(binary),
                    compileTime,
                    new EntryMetadata(
                            "0.1",
                            "host/1",
                            Instant.EPOCH,
                            List.of(name),
                            List.of(),
                            "kernel " + name)));
        }
        return id.hash().hex();
    }

    private static byte[] mark(String name) {
        return ("the binary of " + name + ".").getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Stores ten old entries of an old driver and five new ones, and returns the ids, most recently
     * used first.
     */
    private List<String> fill() throws Exception {
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 15; i++) {
            ids.add(store(
                    i < 5 ? NEW : OLD,
                    "k" + i,
                    BYTES + i,
                    Duration.ofDays(4L * i).plusMinutes(1),
                    Duration.ofMillis(100 - i)));
        }
        return ids;
    }

    private List<String> listed(String... options) {
        List<String> all = new ArrayList<>(List.of("ls", "--json"));
        all.addAll(List.of(options));
        return ids(run(all.toArray(String[]::new)).exits(0).json());
    }

    private static List<String> ids(JsonObject object) {
        return object.getAsJsonArray("entries").asList().stream()
                .map(entry -> entry.getAsJsonObject().get("id").getAsString())
                .toList();
    }

    /** Flips a bit of a stored binary. */
    private void damage(String name) throws IOException {
        StoredEntry stored = stored(name);
        byte[] bytes = stored.bytes();
        bytes[position(bytes, name)] ^= 1;
        stored.overwrite(bytes);
    }

    /** Changes the format version of a stored entry to a later one. */
    private void makeTooNew(String name) throws IOException {
        StoredEntry stored = stored(name);
        byte[] bytes = stored.bytes();
        TestEntries.setLaterVersion(bytes, 0);
        stored.overwrite(bytes);
    }

    private StoredEntry stored(String name) throws IOException {
        for (StoredEntry stored : StoredEntry.in(Path.of(local))) {
            if (position(stored.bytes(), name) >= 0) {
                return stored;
            }
        }
        throw new IOException("the binary of " + name + " was not found");
    }

    /** Returns the position of the binary of that name, -1 if there is none. */
    private static int position(byte[] bytes, String name) {
        return new String(bytes, StandardCharsets.ISO_8859_1)
                .indexOf(new String(mark(name), StandardCharsets.ISO_8859_1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "evict", "evict --dry-run", "evict --to much", "evict --to -1",
                        "evict --older-than 30", "evict --older-than d", "evict --id xyz",
                "ls --sort age", "ls --limit 0", "ls --limit -1", "ls --limit many",
                        "ls --older-than soon", "ls --id ../..", "verify --to 5",
                "verify --id", "evict --all --to 0", "evict --yes --to 0",
                        "evict s3://kernels --all", "ls --sort compile s3://kernels", "ls / "
            })
    @DisplayName("Wrong usage ends with 2, a message, and nothing on standard output or in the"
            + " directory")
    void wrongUsage(String arguments) {
        Cli result = run(arguments.split(" ")).exits(2);
        assertEquals("", result.out());
        assertFalse(result.err().isBlank());
    }

    @Test
    @DisplayName("ls sorts, limits and selects; its totals remain those of all entries")
    void ls() throws Exception {
        List<String> ids = fill();
        assertEquals(ids, listed());
        assertEquals(ids.reversed(), listed("--sort", "size"));
        assertEquals(ids, listed("--sort", "compile"));
        assertEquals(ids.subList(0, 3), listed("--sort", "compile", "--limit", "3"));
        assertEquals(
                List.of(OLD, NEW).stream()
                        .flatMap(target ->
                                ids.subList(target == NEW ? 0 : 5, target == NEW ? 5 : 15).stream()
                                        .sorted())
                        .toList(),
                listed("--sort", "name"));
        assertEquals(ids.subList(8, 15), listed("--older-than", "30d"));
        assertEquals(
                ids.subList(0, 5),
                listed("--target", NEW.path().substring(0, NEW.path().length() - 5)));
        assertEquals(List.of(), listed("--target", "level-zero"));
        assertEquals(List.of(ids.get(7)), listed("--id", ids.get(7).substring(0, 20)));
        assertEquals(List.of(), listed("--older-than", "9w"));
        run("ls", "--limit", "2")
                .exits(0)
                .prints("2 of 15 entries", NEW.path(), ids.get(0).substring(0, 16));
        run("ls", "--long", "--target", NEW.path())
                .exits(0)
                .prints("kernels", "k4", "96.0 ms", "5 entries");
        damage("k1");
        run("ls", "--long").exits(0).prints("(corrupt)");
    }

    @Test
    @DisplayName("inspection removes nothing, whatever the capacity is")
    void lookingEvictsNothing() throws Exception {
        fill();
        store(NEW, "large", 3 << 20, Duration.ZERO, Duration.ZERO);
        for (String command : List.of(
                "ls", "stats", "verify", "evict --all", "evict --to 1 --dry-run", "doctor")) {
            run((command + " --capacity 1").split(" "));
        }
        assertEquals(16, listed().size());
    }

    @Test
    @DisplayName(
            "evict --to removes the least recently used until what remains fits; a dry run lists"
                    + " the same and removes nothing")
    void evictTo() throws Exception {
        List<String> ids = fill();
        String large =
                store(NEW, "large", 2 << 20, Duration.ofDays(20).plusMinutes(2), Duration.ZERO);
        List<String> victims = new ArrayList<>(ids.subList(6, 15).reversed());
        victims.add(large);
        assertEquals(
                victims,
                ids(run("evict", "--to", "1MiB", "--dry-run", "--json").exits(0).json()));
        run("evict", "--to", "1", "--dry-run")
                .exits(0)
                .prints(
                        "10 entries (",
                        "would be removed, 6 entries (",
                        "would remain",
                        OLD.path());
        assertEquals(16, listed().size());
        run("evict", "--to", "4GiB").exits(0).prints("0 entries (0 B) removed, 16 entries");
        JsonObject evicted = run("evict", "--to", "1", "--json").exits(0).json();
        assertEquals(victims, ids(evicted));
        assertEquals(6, evicted.get("keptEntries").getAsInt());
        assertEquals(ids.subList(0, 6), listed());
        run("evict", "--to", "0").exits(0).prints("6 entries (", "removed, 0 entries (0 B) remain");
        assertEquals(List.of(), listed());
    }

    @Test
    @DisplayName("evict by age, target and id removes the entries that match all options")
    void evictSelected() throws Exception {
        List<String> ids = fill();
        run("evict", "--older-than", "30d", "--target", NEW.path())
                .exits(0)
                .prints("0 entries (0 B) removed");
        run("evict", "--older-than", "30d").exits(0).prints("7 entries (");
        assertEquals(ids.subList(0, 8), listed());
        run("evict", "--id", ids.getFirst()).exits(0).prints("1 entry (");
        run("evict", "--target", OLD.path(), "--to", "0")
                .exits(0)
                .prints("3 entries (", "4 entries (");
        assertEquals(ids.subList(1, 5), listed());
    }

    @Test
    @DisplayName("evict --all reports the entries, and removes them only with --yes")
    void clear() throws Exception {
        fill();
        run("evict", "--all").exits(0).prints("15 entries (", "would be removed", "--yes");
        assertTrue(run("evict", "--all", "--json").exits(0).json().get("dryRun").getAsBoolean());
        assertEquals(15, listed().size());
        JsonObject cleared = run("evict", "--all", "--yes", "--json").exits(0).json();
        assertFalse(cleared.get("dryRun").getAsBoolean());
        assertEquals(15, cleared.get("removedEntries").getAsInt());
        assertEquals(0, cleared.get("keptEntries").getAsInt());
        assertEquals(List.of(), listed());
        run("evict", "--all", "--yes").exits(0).prints("0 entries (0 B) removed");
    }

    @Test
    @DisplayName("On a read-only disk evict reports that nothing was removed, and end with 1")
    void readOnly() throws Exception {
        fill();
        assumeTrue(
                "root".equals(System.getProperty("user.name"))
                        && SystemTool.run("mount", "--bind", local, local),
                "mounting needs root");
        try {
            assumeTrue(
                    SystemTool.run("mount", "-o", "remount,bind,ro", local),
                    "this machine does not allow a read-only mount");
            run("evict", "--all", "--yes")
                    .exits(1)
                    .prints("0 entries (0 B) removed", "15 entries (");
            run("evict", "--to", "0").exits(1).prints("0 entries (0 B) removed", "15 entries kept");
            assertEquals(15, listed().size());
        } finally {
            assertTrue(SystemTool.run("umount", local));
        }
    }

    @Test
    @DisplayName("verify finds damaged entries, ends with 1 and keeps them; --repair removes only"
            + " them and ends with 0; foreign files are kept")
    void verify() throws Exception {
        List<String> ids = fill();
        run("verify").exits(0).prints("sound 15", "No damage found.", "foreign nothing");
        damage("k3");
        damage("k9");
        Path foreign = Files.writeString(Path.of(local).resolve("v3/notes.txt"), "mine");
        run("verify")
                .exits(1)
                .prints(
                        "sound 13",
                        "failed 2",
                        ids.get(3).substring(0, 16),
                        "--repair",
                        "notes.txt");
        JsonObject json = run("verify", "--json").exits(1).json();
        assertEquals(2, json.get("failed").getAsInt());
        assertEquals(
                Set.of(ids.get(3), ids.get(9)),
                json.getAsJsonArray("failures").asList().stream()
                        .map(bad -> bad.getAsJsonObject().get("cause").getAsString())
                        .peek(cause -> assertTrue(cause.contains(": corrupt: "), cause))
                        .map(cause -> cause.substring(0, 64))
                        .collect(toSet()));
        assertEquals(15, listed().size());
        run("verify", "--target", OLD.path()).exits(1).prints("sound 9", "failed 1");
        run("inspect", ids.get(3), "--json").exits(1).reports("is damaged (CORRUPT");
        run("verify", "--repair").exits(0).prints("2 entries removed");
        assertEquals(13, listed().size());
        run("verify", "--json").exits(0);
        assertTrue(Files.exists(foreign));
    }

    @Test
    @DisplayName("inspect shows the container of a binary, and whether it is for the target")
    void inspectContainer() throws Exception {
        String ptx = ".version 8.7\n.target sm_90\n";
        Map<String, String> results = Map.of(
                "9.0", "yes: NVIDIA PTX 8.7 for sm_90",
                "8.0", "no, lookups discard it: NVIDIA PTX 8.7 for sm_90, not for sm_80",
                "unknown", "undetermined, the driver decides: NVIDIA PTX 8.7 for sm_90");
        for (Map.Entry<String, String> result : results.entrySet()) {
            Target target =
                    new Target(Backend.OPENCL, "nvidia", "Device sm " + result.getKey(), "580");
            Id id = Id.builder(target).field("source", "saxpy").build();
            try (LocalTier tier =
                    LocalTier.open(LocalTierConfig.builder(Path.of(local)).build())) {
                tier.store(TestEntries.entry(
                        id, KernelBinaries.of(ptx.getBytes(StandardCharsets.US_ASCII))));
            }
            run("inspect", id.hash().hex())
                    .exits(0)
                    .prints(
                            "container NVIDIA PTX 8.7 for sm_90",
                            "compatible " + result.getValue());
            JsonObject json = run("inspect", id.hash().hex(), "--json").exits(0).json();
            assertEquals(
                    "NVIDIA PTX 8.7 for sm_90",
                    json.getAsJsonArray("containers").get(0).getAsString());
            assertEquals(
                    result.getValue().startsWith("yes")
                            ? "compatible"
                            : result.getValue().startsWith("no") ? "incompatible" : "undetermined",
                    json.get("compatibility").getAsString());
        }
    }

    @Test
    @DisplayName("an entry of a later version is not damage: verify reports it, and repair"
            + " skips it")
    void otherVersion() throws Exception {
        List<String> ids = fill();
        makeTooNew("k3");
        run("verify").exits(0).prints("sound 14", "1 entry of other versions, kept for those");
        run("verify", "--repair").exits(0);
        assertEquals(15, listed().size());
        run("inspect", ids.get(3))
                .exits(1)
                .reports("is of another version (TOO_NEW", "does not use it");
    }
}
