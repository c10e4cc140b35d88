package dev.granary.coordinator;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.cache.constant.ConstantLimits;
import dev.granary.cache.contract.TestEntries;
import dev.granary.cache.format.Compression;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.PutId;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.manifest.KernelFiles;
import dev.granary.coordinator.manifest.Manifest;
import dev.granary.coordinator.manifest.ManifestException;
import dev.granary.coordinator.manifest.ManifestKernel;
import dev.granary.coordinator.transfer.TreeReader;
import dev.granary.coordinator.transfer.TreeWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Texts that people write, and trees that they hand on, mutated: a result or a mistake that is told, never anything else. */
class TextFuzzTest {
    private static final List<String> TOML_WORDS = List.of("[", "]", "[[", "]]", "{", "}", "\"", "'", "\"\"\"", "'''", "\\u", "\\U0010ffff", "\\", "=", ".", ",", "#", "\n", "1979-05-27T07:32:00-1'",
            "1979-05-27", "07:32:00", "inf", "nan", "0x", "1e400", "-", "+", "99999999999999999999", "true", "//u:p@", "[[[[[[[[", "kernel", "name", "options", "geometry", "global");

    @TempDir
    private Path directory = Path.of("");

    private static int runs(int part) { // these read files: the build takes fewer
        return Math.toIntExact(Long.getLong("granary.fuzz.runs", Fuzzer.USUAL_RUNS) / (Long.getLong("granary.fuzz.runs") == null ? part : 1));
    }

    private static List<byte[]> texts(String... texts) {
        return Stream.of(texts).map(text -> text.getBytes(UTF_8)).toList();
    }

    /** Runs {@code target}, whose parser reads {@code file}, on inputs that are written to it. The file stays open: opening it costs as much as a parser. */
    private static void run(Path file, FuzzTarget target, long runs) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            Fuzzer.run(new FuzzTarget(target.name(), target.seeds(), target.dictionary(), target.repair(), target.documented(), target.bytesPerByte(), bytes -> {
                ByteBuffer all = ByteBuffer.wrap(bytes);
                while (all.hasRemaining()) {
                    channel.write(all, all.position());
                }
                channel.truncate(bytes.length);
                target.parser().parse(bytes);
            }), runs);
        }
    }

    private static void checkMessage(Exception e) {
        String message = String.valueOf(e.getMessage());
        assertFalse(message.contains("//u:p@"), message);
        assertTrue(message.length() < 4000, message);
    }

    @Test
    @DisplayName("Fuzz: a manifest is read, or its mistake is told with line and column")
    void manifest() throws Exception {
        Path file = directory.resolve("kernels.toml");
        run(file, FuzzTarget.of("kernels.toml", texts("""
                [[kernel]]
                name = "gemm"
                source = "src/gemm.cl"
                include = ["include", '../shared']
                options = '-D TILE=16 -I extra -DS="a b"'
                entry = ["gemm"]
                geometry = { global = [1024, 512], local = [16, 16] }
                """, "[[kernel]]\nname='k'\nsource=\"\"\"a\nb\"\"\"\n", "kernel = [{name = 'a', source = 'b'}]\na.b.c = 1979-05-27T07:32:00-08:00\n",
                kernel("include = [\"i\", '../s']"), kernel("options = '-D A=1 -I x'"), kernel("options = '-DS=\"a b\"'"), kernel("entry = [\"gemm\"]"),
                kernel("geometry = { global = [8, 4], local = [2] }"), kernel("geometry.global = [0x10]"), "kernel = [{name='a',source='b'},{name='a',source='c'}]"), bytes -> {
            try {
                for (ManifestKernel kernel : Manifest.read(file).kernels()) {
                    assertFalse(kernel.name().isBlank());
                }
            } catch (ManifestException e) {
                checkMessage(e);
            }
        }).words(TOML_WORDS).allocating(40_000), runs(50));
    }

    private static String kernel(String more) {
        return "[[kernel]]\nname='k'\nsource='s'\n" + more;
    }

    @Test
    @DisplayName("Fuzz: a configuration file is read, or its mistake is told")
    void configuration() throws Exception {
        Path file = directory.resolve("config.toml");
        Map<String, String> environment = Map.of("GRANARY_CONFIG", file.toString(), "HOME", directory.toString());
        run(file, FuzzTarget.of("configuration", texts("""
                bucket = ["s3://team/x?access=read&endpoint=https://s3.example.com&region=eu-central-1", "s3://b-b"]
                endpoint = "http://127.0.0.1:9000"
                client = "minio"
                dir = "/var/cache/granary"
                capacity = "4GiB"
                eviction = "fifo"
                local-wait = 60
                bucket-wait = "4s"
                primitive-cache-capacity = 10
                constant-tensor-cache-capacity = "cpu:10240;gpu:2048:COST"
                """, "capacity = 500\nbucket = 's3://u:p@x'\n", "bucket = ['s3://a', \"s3://b?access=read\"]", "client = 'aws'\nendpoint = 'https://h:1'", "dir = '~/x'",
                "eviction = \"lru\"", "local-wait = '500ms'", "primitive-cache-capacity = 10", "primitive-cache-policy = 'lru'",
                "constant-tensor-cache-capacity = 'cpu:1;gpu:2:COST'", "network-dir = 'refuse'"), bytes -> {
            try {
                assertFalse(GranaryConfig.builder().environment(environment).build().toString().isEmpty());
            } catch (ConfigException e) {
                checkMessage(e);
            }
        }).words(TOML_WORDS).allocating(40_000), runs(50));
    }

    @Test
    @DisplayName("Fuzz: values of the environment are taken, or told as a mistake")
    void environment() throws Exception {
        List<String> names = List.of("GRANARY_BUCKET", "GRANARY_S3_ENDPOINT", "GRANARY_CAPACITY", "GRANARY_LOCAL_WAIT", "GRANARY_DIR",
                "XDG_CACHE_HOME", "GRANARY_EVICTION", "GRANARY_S3_CLIENT", "GRANARY_NETWORK_DIR");
        List<String> values = List.of("0s3://team/x?access=read&endpoint=https://h:1&region=eu,s3://b-b", "0s3://abc s3://abd?client=minio", "1http://h:9000", "1https://[::1]/x", "24GiB", "2500",
                "360s", "3500ms", "32 m", "4/x/y", "4x", "5/x/y", "6lru", "6fifo", "7minio", "8allow", "cpu:10;gpu:2048:COST"); // each after its variable's number
        Fuzzer.run(FuzzTarget.of("environment", texts(values.toArray(String[]::new)), bytes -> {
            String text = new String(bytes, UTF_8).replace('\0', '0');
            ConstantLimits.parse(text);
            String name = text.isEmpty() ? names.getFirst() : names.get(Math.floorMod(text.charAt(0) - '0', names.size()));
            Map<String, String> all = Map.of("HOME", directory.toString(), name, text.isEmpty() ? "" : text.substring(1)); // and no configuration file
            try {
                assertFalse(GranaryConfig.builder().environment(all).build().toString().isEmpty());
            } catch (ConfigException e) {
                checkMessage(e);
            }
        }).words(List.of("s3://", "?", "&", "=", "GiB", "ms", "-", "99999999999999999999", "\u0661", "//u:p@", "http://[", "%", "..", "~", "access=", "client=", ",")).allocating(20_000), runs(20));
    }

    @Test
    @DisplayName("Fuzz: an entry of an exported tree is imported, damaged or foreign, whatever its files hold, and the one beside it is imported")
    void tree() throws Exception {
        TestEntries entries = new TestEntries("fuzz tree");
        Path root = directory.resolve("tree");
        TreeWriter export = TreeWriter.into(root, TreeWriter.Mode.WRITE, entries.random());
        Entry changed = entries.entry(40);
        Entry beside = entries.entry(30);
        export.write(changed);
        export.write(beside);
        Path place = root.resolve(changed.id().hash().hex()).resolve("0");
        List<Path> files = List.of(place.resolve("about.txt"), place.resolve("key.bin"), place.resolve("kernel.bin"));
        List<byte[]> sound = new ArrayList<>();
        for (Path file : files) {
            sound.add(Files.readAllBytes(file));
        }
        for (int i = 0; i < files.size(); i++) {
            Path file = files.get(i);
            run(file, FuzzTarget.of("tree " + file.getFileName(), List.of(sound.get(i)), bytes -> {
                TreeReader tree = TreeReader.from(root);
                tree.all(entry -> {
                    EntryFormat.encode(entry, Compression.NONE, PutId.NONE);
                    return new StoreResult.Stored(1);
                }, _ -> {});
                assertTrue(tree.stored() >= 1, tree.problems()::toString);
                assertEquals(2, tree.stored() + tree.damaged() + tree.foreign());
            }).words(List.of(": ", "\n", "\\u0000", "\\", "created-at: +292278995-01-01T00:00:00Z", "created-at: -1000000000-01-01T00:00:00Z", "compile-time: PT9223372036854775807S", "granary-entry: 1",
                    "binary-bytes: 40", "producer: x", "key: ")).allocating(2000), runs(50));
            Files.write(file, sound.get(i));
        }
    }

    @Test
    @DisplayName("Fuzz: a kernel's source and header become a descriptor or an IOException")
    void kernelFiles() throws Exception {
        Path source = directory.resolve("k.cl");
        Files.writeString(directory.resolve("a.h"), "int a;");
        ManifestKernel kernel = new ManifestKernel("k", source, List.of(), List.of(), List.of(), Optional.empty());
        Target target = new Target(Backend.OPENCL, "v", "d", "1");
        run(source, FuzzTarget.of("kernel files", texts("#include \"a.h\"\nkernel void k() {}\n", "#define H <a.h>\n#include H\n"), bytes -> {
            KernelFiles.descriptor(kernel, target).getId();
        }).words(List.of("#include ", "\"a.h\"", "<", ">", "..", "/", " ", "\u3000", "??=", "\\\n", "\0", "~", "./")).throwing(IOException.class).allocating(2000), runs(50));
    }
}
