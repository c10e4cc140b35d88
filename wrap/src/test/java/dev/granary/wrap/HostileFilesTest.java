package dev.granary.wrap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.KeyTexts;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.wrap.WrapResult.ToolResult;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Tests of buckets whose entries somebody has made to harm the machines that fetch them. */
class HostileFilesTest {
    private static final String BUCKET = "s3://kernels/team";

    private final Path directory;

    HostileFilesTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private static Entry entry(Target scope, String path, String index, String contents) {
        return Entry.of(
                Id.builder(scope).field("kind", "file").field("path", path).build(),
                KernelBinaries.of(index.getBytes(UTF_8), contents.getBytes(UTF_8)),
                Duration.ZERO,
                new EntryMetadata("x", "x", Instant.EPOCH, List.of(), List.of(), "x"));
    }

    private static Target scope(WrapMachine machine) throws Exception {
        return Scope.of(
                        Tool.ofDirectory(machine.tool),
                        machine.files,
                        Path.of("/"),
                        System.getenv(),
                        "")
                .target();
    }

    private static void publish(WrapMachine machine, Entry entry) throws Exception {
        GranaryConfig config = machine.config().build();
        try (BucketTier bucket =
                TierFactory.bucket(config.buckets().getFirst(), Optional.empty())) {
            assertTrue(bucket.store(entry) instanceof StoreResult.Stored, entry::toString);
        }
    }

    @Test
    @DisplayName("paths that leave the directory, names that are none on some system, databases,"
            + " locks and wrong lengths: nothing of them is written anywhere")
    void hostile() throws Exception {
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            WrapMachine machine = WrapMachine.of(directory.resolve("victim"), server, BUCKET);
            Path outside = directory.resolve("outside");
            Files.createDirectories(outside);
            Files.createSymbolicLink(machine.files.resolve("link"), outside);
            Target scope = scope(machine);
            String deep = "d/".repeat(40) + "x";
            for (String path : List.of(
                    "../evil",
                    "/tmp/evil",
                    "a/../../evil",
                    "./evil",
                    "a//evil",
                    "",
                    "a\\evil",
                    "C:evil",
                    "a/evil\n",
                    "nul",
                    "a/com1.txt",
                    "evil.",
                    "x".repeat(250),
                    deep,
                    "link/evil",
                    "index.sqlite3",
                    "a/evil.lock",
                    ".granary-0123456789abcdef")) {
                publish(machine, entry(scope, path, "4 ", "evil"));
            }
            publish(machine, entry(scope, "too long", "5 ", "evil"));
            publish(machine, entry(scope, "too short", "3 ", "evil"));
            publish(machine, entry(scope, "no length", "evil", "evil"));
            publish(machine, entry(scope, "overflow", "9999999999 ", "evil"));
            publish(machine, entry(scope, "group", "2 a\n2 ../../evil", "evil"));
            publish(machine, entry(scope, "twice", "2 a\n2 A", "evil"));
            publish(machine, entry(scope, "database", "16 ", "SQLite format 3\0"));
            publish(machine, entry(scope, "Case", "4 ", "good"));
            publish(machine, entry(scope, "case", "4 ", "evil"));
            publish(machine, entry(scope, "good", "4 ", "good"));

            WrapResult result = machine.run("true");
            ToolResult tool = result.tools().getFirst();
            assertEquals(0, result.exitCode());
            TreeSet<String> installed = new TreeSet<>(machine.contents().keySet());
            assertEquals(2, tool.fetched(), () -> tool + "" + installed);
            assertTrue(
                    tool.skipped().values().stream().mapToInt(each -> each).sum() >= 24,
                    tool::toString);
            installed.removeIf(name -> name.equalsIgnoreCase("case"));
            assertEquals(Map.of("good", "good").keySet(), installed);
            try (Stream<Path> all = Files.walk(directory)) {
                assertEquals(
                        List.of(),
                        all.filter(file -> file.getFileName().toString().contains("evil"))
                                .toList());
            }
        }
    }

    @Test
    @DisplayName("where signatures are required, unsigned files are not installed, and those that a"
            + " publisher with the key has written are")
    void signatures() throws Exception {
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            KeyTexts.Pair key = KeyTexts.create("ci");
            WrapMachine.of(directory.resolve("foreign"), server, BUCKET).run("printf 1 >$D/one");
            WrapMachine reader =
                    WrapMachine.of(directory.resolve("reader"), server, BUCKET + "?trust=require");
            List<String> nothing = List.of("true");
            WrapResult refused =
                    reader.wrap(reader.config().trustedKeys(key.publicKey())).run(nothing);
            assertEquals(0, refused.tools().getFirst().fetched(), refused::toString);
            assertTrue(refused.toString().contains("not signed"), refused::toString);

            WrapMachine publisher = WrapMachine.of(
                    directory.resolve("publisher"), server, BUCKET + "?trust=require");
            Path file = publisher.files.resolve("two");
            WrapResult signed = publisher
                    .wrap(publisher
                            .config()
                            .trustedKeys(key.publicKey())
                            .signingKey(key.privateKey()))
                    .run(List.of("sh", "-c", "printf 2 >" + file));
            assertEquals(1, signed.tools().getFirst().published(), signed::toString);
            reader.wrap(reader.config().trustedKeys(key.publicKey())).run(nothing);
            assertEquals(Map.of("two", "2"), reader.contents());
        }
    }
}
