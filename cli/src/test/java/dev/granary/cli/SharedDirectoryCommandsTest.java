package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.StoredEntry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.local.EntryFiles;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Tests of the commands with a shared directory in the place of a bucket. */
class SharedDirectoryCommandsTest {
    private static final String TARGET = TestEntries.TARGET.path();

    private final Path directory;
    private final Path shared;
    private final String layer;
    private final TestEntries entries = new TestEntries("SharedDirectoryCommandsTest");

    SharedDirectoryCommandsTest(@TempDir Path directory) {
        this.directory = directory;
        this.shared = directory.resolve("shared");
        this.layer = "file://" + shared;
    }

    private List<Entry> fill(int count) {
        List<Entry> all =
                Stream.generate(() -> entries.entry(1000)).limit(count).toList();
        all.forEach(EntryFiles.shared(shared)::store);
        return all;
    }

    private Cli run(String machine, String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--dir", directory.resolve(machine).toString(), "--bucket", layer));
        return Cli.run(all.toArray(String[]::new));
    }

    private String manifest() throws IOException {
        Files.writeString(
                directory.resolve("twice.cl"),
                "__kernel void twice(__global float *v) { v[get_global_id(0)] *= 2; }\n");
        return Files.writeString(directory.resolve("kernels.toml"), """
            [[kernel]]
            name = "twice"
            source = "twice.cl"
            """).toString();
    }

    @Test
    @DisplayName("populate publishes to the directory, reads back and pins; get on another machine"
            + " restores from it")
    void populateAndGet() throws Exception {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        String manifest = manifest();
        run("builder", "populate", manifest).exits(0).prints(layer + ": 1 published");
        assertEquals(1, StoredEntry.in(shared).size());
        run("builder", "populate", manifest, "--pin", "release")
                .exits(0)
                .prints("1 there already", "1 entry pinned as release");
        Cli.run("collect", layer, "--pins").exits(0).prints("release");
        JsonObject result = run("other", "get", manifest, "--json").exits(0).json();
        assertEquals(1, result.getAsJsonObject("summary").get("bucket").getAsInt());
    }

    @Test
    @DisplayName("populate into a place that cannot be a directory compiles nothing; into a"
            + " read-only layer it is a wrong use")
    void populateWithoutDirectory() throws Exception {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        Files.writeString(shared, "in the way");
        run("builder", "populate", manifest())
                .exits(1)
                .reports(layer + " cannot be used, nothing was compiled");
        Cli.run("populate", manifest(), "--bucket", layer + "?access=read")
                .exits(2)
                .reports("No writable bucket");
    }

    @Test
    @DisplayName("warm copies the entries of the target into the local directory, once")
    void warm() throws Exception {
        fill(20);
        run("a", "warm", "--target", TARGET)
                .exits(0)
                .prints("from " + layer, "installed  20 entries (", "present    0", "requests   0");
        assertEquals(20, StoredEntry.in(directory.resolve("a")).size());
        run("a", "warm", "--target", TARGET)
                .exits(0)
                .prints("installed  0 entries", "present    20");
        run("a", "warm", "--target", "opencl/absent-target")
                .exits(1)
                .reports("no entry for opencl/absent-target is in " + layer);
    }

    @Test
    @DisplayName("copy reads and writes shared directories, but not one that is configured as"
            + " read-only")
    void copy() throws Exception {
        fill(10);
        String other = "file://" + directory.resolve("other");
        Cli.run("copy", layer, other).exits(0);
        assertEquals(10, StoredEntry.in(directory.resolve("other")).size());
        Cli.run("copy", layer + "?access=read", directory.resolve("plain").toString())
                .exits(0);
        Cli.run("copy", directory.resolve("plain").toString(), other).exits(0);
        Cli.run("copy", layer, other + "?access=read").exits(2).reports("read-only");
        Cli.run("copy", "file://nas/x", other).exits(2).reports("without a host");
        String missing = "file://" + directory.resolve("missing");
        Cli.run("copy", missing, other).exits(2).reports(missing + " is not a directory");
        Cli.run("ls", missing).exits(2).reports(missing + " is not a directory");
        Cli.run("copy", layer, "").exits(2).reports("empty");
        Cli.run("evict", "", "--all", "--yes").exits(2).reports("empty");
        Cli.run("copy", "https://nas/x", other).exits(2).reports("no kind of place");
    }

    @Test
    @DisplayName("ls, verify, stats and inspect read the directory")
    void read() throws Exception {
        Entry entry = fill(3).getFirst();
        assertEquals(
                3,
                Cli.run("ls", layer, "--json")
                        .exits(0)
                        .json()
                        .getAsJsonArray("entries")
                        .size());
        Cli.run("stats", layer).exits(0).prints("place      " + layer, "entries    3");
        run("a", "inspect", entry.id().hash().hex()).exits(0).prints(TARGET);
        Cli.run("verify", layer).exits(0).prints("sound", "3");
        StoredEntry.in(shared).getFirst().overwrite(new byte[9]);
        Cli.run("verify", layer).exits(1);
        assertEquals(3, StoredEntry.in(shared).size(), "verify removes nothing");
    }

    @Test
    @DisplayName("evict and verify --repair change the directory as it is, even if others can"
            + " write it, but not one that is configured as read-only")
    void change() throws Exception {
        fill(5);
        Files.setPosixFilePermissions(shared, PosixFilePermissions.fromString("rwxrwxrwx"));
        StoredEntry.in(shared).getFirst().overwrite(new byte[9]);
        Cli.run("verify", layer + "?access=read", "--repair").exits(2).reports("read-only");
        Cli.run("verify", layer, "--repair").exits(0).prints("1 entry removed");
        assertEquals(4, StoredEntry.in(shared).size());
        Cli.run("verify", layer).exits(0).prints("No damage found.");
        Cli.run("evict", layer + "?access=read", "--all").exits(2).reports("read-only");
        String id = StoredEntry.in(shared).getFirst().file().getFileName().toString();
        Cli.run("evict", layer, "--id", id.substring(0, 64))
                .exits(0)
                .prints("place      " + layer, "1 entry (", "removed, 3 entries (");
        Cli.run("evict", layer, "--all", "--yes").exits(0).prints("3 entries (");
        assertEquals(0, StoredEntry.in(shared).size());
        Cli.run("evict", "file://" + directory.resolve("missing"), "--all")
                .exits(2)
                .reports("is not a directory");
    }

    @Test
    @DisplayName("ls --long reads a shared directory; only a bucket refuses it")
    void longList() {
        fill(2);
        Cli shown = Cli.run("ls", layer, "--long").exits(0).prints("compiled", "2 entries");
        assertFalse(shown.out().contains("bucket"), shown::out);
        Cli.run("ls", layer, "--sort", "compile").exits(0).prints("compiled");
        Cli.run("ls", "s3://kernels", "--long").exits(2).reports("would download the bucket");
        Cli reset = Cli.run("stats", layer, "--reset").exits(2).reports(layer + ": it has no");
        assertFalse(reset.err().contains("bucket"), reset::err);
    }

    @Test
    @DisplayName("--endpoint and --client without an s3:// place are a wrong usage")
    void optionsOfBuckets() {
        fill(1);
        for (String command : List.of("ls", "stats", "verify", "evict --all")) {
            for (String option : List.of("--endpoint=http://h", "--client=minio")) {
                for (String place : List.of(layer, shared.toString())) {
                    List<String> arguments = new ArrayList<>(List.of(command.split(" ")));
                    arguments.addAll(List.of(place, option));
                    Cli.run(arguments.toArray(String[]::new))
                            .exits(2)
                            .reports("belong to s3:// places");
                }
            }
        }
        Cli.run("copy", layer, directory.resolve("to").toString(), "--client", "minio")
                .exits(2)
                .reports("belong to s3:// places");
        assertFalse(Files.exists(directory.resolve("to")));
    }

    @Test
    @DisplayName("doctor says whether the directory can be read and written")
    void doctor() throws Exception {
        assertTrue(run("a", "doctor").out().contains("is created by the first store"));
        assertFalse(Files.exists(shared));
        fill(1);
        assertTrue(run("a", "doctor").out().contains(shared + " can be read and written"));
        assertTrue(run("a", "doctor", "--quick").out().contains("can be read and written"));
        String missing = "file://" + directory.resolve("missing") + "?access=read";
        Cli.run("doctor", "--dir", directory.resolve("a").toString(), "--bucket", missing)
                .exits(1)
                .prints("cannot be read: it does not exist", "mount it");
    }

    @Test
    @DisplayName("doctor says for each layer whether compiles are claimed there, and why not")
    void claims() throws Exception {
        fill(1);
        String claimed = "compiles are claimed: of machines that lack the same kernel, one compiles"
                + " it, and the others wait";
        assertTrue(run("a", "doctor").out().contains("ok       claims: " + claimed));
        assertFalse(run("a", "doctor", "--quick").out().contains("claims"));
        String other = "file://" + Files.createDirectory(directory.resolve("other"));
        String node = directory.resolve("none").toString();
        Cli.run("doctor", "--dir", node, "--bucket", other, "--bucket", layer)
                .prints(
                        "ok       claims " + other + ": " + claimed,
                        "ok       claims " + layer
                                + ": compiles are not claimed there: compiled entries go to "
                                + other);
        Cli.run("doctor", "--dir", node, "--bucket", other + "?access=read")
                .prints("compiles are not claimed there: no bucket is writable");
    }

    @Test
    @DisplayName("compact says that a directory has no packs")
    void compact() {
        fill(1);
        Cli.run("compact", layer, "--target", TARGET).exits(2).reports("has no packs");
    }
}
