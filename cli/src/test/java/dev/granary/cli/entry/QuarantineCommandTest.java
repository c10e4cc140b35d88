package dev.granary.cli.entry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Target;
import dev.granary.cli.Cli;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.machine.Machine;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.local.LocalTier;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The command {@code quarantine}, after processes that died. */
class QuarantineCommandTest {
    private static final Target TARGET = new Target(Backend.OPENCL, "acme", "gpu one", "1.0");
    private static final int DEATH = 41;

    @TempDir
    private Path directory;

    /** A process that ends during the trial of a plan of the tuning with each id. */
    static final class DiesInTrial {
        private DiesInTrial() {}

        public static void main(String[] arguments) throws Exception {
            RestoreQuarantine quarantine = quarantine(Path.of(arguments[0]));
            for (String name : List.of(arguments).subList(1, arguments.length)) {
                quarantine.beginTrial(id(name).hash(), id("plan").hash());
            }
            Runtime.getRuntime().halt(DEATH);
        }
    }

    /** A process that ends during the restore of entries, as a driver ends it by an abort. */
    static final class DiesInRestore {
        private DiesInRestore() {}

        public static void main(String[] arguments) throws Exception {
            Path directory = Path.of(arguments[0]);
            RestoreQuarantine quarantine = quarantine(directory);
            for (String name : List.of(arguments).subList(1, arguments.length)) {
                quarantine.begin(stored(directory, name));
            }
            Runtime.getRuntime().halt(DEATH);
        }
    }

    private static GranaryConfig config(Path directory) throws Exception {
        return GranaryConfig.builder().directory(directory).build();
    }

    private static RestoreQuarantine quarantine(Path directory) throws Exception {
        return Machine.open(config(directory), Optional.empty(), false, InstantSource.system())
                .quarantine()
                .orElseThrow();
    }

    private static Entry stored(Path directory, String name) throws Exception {
        try (LocalTier tier = TierFactory.local(config(directory))) {
            return assertInstanceOf(LoadResult.Hit.class, tier.load(id(name))).entry();
        }
    }

    private static Id id(String name) {
        return Id.builder(TARGET).field("source", name).build();
    }

    private static String digest(String name) {
        return id(name).hash().hex();
    }

    private void dieIn(Class<?> program, String... names) throws Exception {
        List<String> arguments = new ArrayList<>(List.of(directory.toString()));
        arguments.addAll(List.of(names));
        assertEquals(
                DEATH,
                ChildJvm.of(program)
                        .shortLived()
                        .run(arguments.toArray(String[]::new))
                        .exitCode());
    }

    private void storeAndDie(String... names) throws Exception {
        try (LocalTier tier = TierFactory.local(config(directory))) {
            for (String name : names) {
                tier.store(Entry.of(
                        id(name),
                        KernelBinaries.of(name.getBytes(StandardCharsets.UTF_8)),
                        Duration.ofSeconds(1),
                        new EntryMetadata(
                                "0.1", "host/1", Instant.EPOCH, List.of(name), List.of(), "")));
            }
        }
        dieIn(DiesInRestore.class, names);
    }

    private Cli run(String... arguments) {
        List<String> all = new ArrayList<>(List.of("quarantine"));
        all.addAll(List.of(arguments));
        all.addAll(List.of("--dir", directory.toString()));
        return Cli.run(all.toArray(String[]::new));
    }

    private List<String> listed() {
        JsonArray all = run("--json").exits(0).json().getAsJsonArray("quarantine");
        return all.asList().stream()
                .map(JsonElement::getAsJsonObject)
                .map(entry -> entry.get("id").getAsString())
                .sorted()
                .toList();
    }

    private boolean isQuarantined(String name) throws Exception {
        return RestoreQuarantine.reason(directory, stored(directory, name), Instant.now())
                .isPresent();
    }

    @Test
    @DisplayName("each entry whose restore ended a process, before any other process ran")
    void list() throws Exception {
        storeAndDie("a", "b");
        Instant before = Instant.now();
        assertEquals(List.of(digest("a"), digest("b")).stream().sorted().toList(), listed());
        JsonObject first =
                run("--json").json().getAsJsonArray("quarantine").get(0).getAsJsonObject();
        assertEquals(TARGET.path(), first.get("target").getAsString());
        Duration rest =
                Duration.between(before, Instant.parse(first.get("until").getAsString()));
        assertTrue(
                rest.compareTo(Duration.ofHours(23)) > 0
                        && rest.compareTo(Duration.ofHours(25)) < 0,
                rest::toString);
        run().exits(0).prints(digest("a").substring(0, 16), "2 in quarantine");
        assertTrue(isQuarantined("a"));
    }

    @Test
    @DisplayName("plans whose trial ended a process are in quarantine, too")
    void plans() throws Exception {
        storeAndDie("a");
        dieIn(DiesInTrial.class, "tuning", "other");
        run().exits(0)
                .prints(
                        digest("tuning").substring(0, 16),
                        digest("plan").substring(0, 16),
                        "3 in quarantine; granary quarantine --clear allows them again");
        run("--clear", digest("tuning")).exits(0).prints("1 allowed again, 2 in quarantine");
        run("--clear").exits(0).prints("2 allowed again, 0 in quarantine");
    }

    @Test
    @DisplayName("--clear ends the quarantine of the given ids, or the whole quarantine")
    void clear() throws Exception {
        storeAndDie("a", "b", "c");
        run("--clear", digest("b").substring(0, 12))
                .exits(0)
                .prints("1 allowed again, 2 in quarantine");
        assertEquals(List.of(digest("a"), digest("c")).stream().sorted().toList(), listed());
        assertFalse(isQuarantined("b"));
        assertTrue(isQuarantined("a"));
        JsonObject cleared = run("--clear", "--json").exits(0).json();
        assertEquals(2, cleared.get("cleared").getAsInt());
        assertTrue(cleared.getAsJsonArray("quarantine").isEmpty());
        assertFalse(isQuarantined("a"));
        assertFalse(isQuarantined("c"));
    }

    @Test
    @DisplayName("An id that is not in quarantine is an error, and clears nothing")
    void unknown() throws Exception {
        storeAndDie("a");
        run("--clear", digest("a"), digest("b"))
                .exits(1)
                .reports("no entry in quarantine has an id that begins with " + digest("b"));
        assertEquals(List.of(digest("a")), listed());
        run("--clear", "../..").exits(2).reports("is not an id");
    }

    @Test
    @DisplayName("Buckets have no quarantine: their options are unknown")
    void noBuckets() {
        run("--bucket", "s3://kernels").exits(2).reports("--bucket");
    }

    @Test
    @DisplayName("Other files in the directory of the quarantine are left alone")
    void others() throws Exception {
        Path quarantine = Files.createDirectories(directory.resolve("quarantine"));
        Path old = Files.createFile(quarantine.resolve("notes"));
        Files.setLastModifiedTime(old, FileTime.from(Instant.EPOCH));
        Path nested = Files.createDirectories(
                quarantine.resolve(digest("a") + "-" + digest("b")).resolve("x"));
        run().exits(0).prints("0 in quarantine");
        run("--clear").exits(0).prints("0 allowed again");
        assertTrue(Files.exists(old) && Files.exists(nested));
    }
}
