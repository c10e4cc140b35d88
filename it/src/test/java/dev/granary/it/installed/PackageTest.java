package dev.granary.it.installed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Tests of the Debian package: built from the jars, unpacked in an empty root, and used there. */
class PackageTest {
    private static final Path HOME = Path.of("..").toAbsolutePath().normalize();

    private final Path directory;

    PackageTest(@TempDir Path directory) {
        this.directory = directory;
    }

    private record Output(int exitCode, String text) {
        Output succeeds() {
            assertEquals(0, exitCode, text);
            return this;
        }
    }

    /** Runs a command with these variables and nothing else from this environment. */
    private Output run(Map<String, String> variables, String... command) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().clear();
        builder.environment()
                .putAll(Map.of(
                        "PATH", "/usr/sbin:/usr/bin:/sbin:/bin", "HOME", directory.toString()));
        builder.environment().putAll(variables);
        Process process = builder.start();
        String text = new String(process.getInputStream().readAllBytes(), UTF_8);
        return new Output(process.waitFor(), text);
    }

    private static String classPath() throws IOException {
        List<String> jars = new ArrayList<>();
        try (Stream<Path> built = Files.list(HOME.resolve("cli/target"))) {
            built.map(Path::toString)
                    .filter(jar -> jar.matches(".*/granary-cli-[0-9.]+(-SNAPSHOT)?\\.jar"))
                    .forEach(jars::add);
        }
        Assumptions.assumeTrue(jars.size() == 1, "the command is not packaged");
        String others =
                Files.readString(HOME.resolve("cli/target/granary.classpath")).strip();
        jars.addAll(List.of(others.split(File.pathSeparator)));
        return String.join(File.pathSeparator, jars);
    }

    @Test
    @Tag("exhaustive") // takes minutes
    @DisplayName(
            "the package runs without a JDK: it publishes and gets kernels, is small, and has a"
                    + " man page, completions and units")
    void installed() throws Exception {
        Assumptions.assumeTrue(Files.exists(Path.of("/usr/bin/dpkg-deb")), "no dpkg-deb");
        Path out = directory.resolve("out");
        Path jars = Files.writeString(
                directory.resolve("bom.json"),
                "{\n  \"components\" : [\n    {\"type\": \"library\"}\n  ]\n}\n");
        Map<String, String> building = Map.of(
                "JAVA_HOME", System.getProperty("java.home"),
                "GRANARY_CLASSPATH", classPath(),
                "GRANARY_SBOM", jars.toString());
        String built = run(building, HOME.resolve("package/build").toString(), out.toString())
                .succeeds()
                .text();
        Path root = directory.resolve("a root");
        Path deb;
        try (Stream<Path> files = Files.list(out)) {
            deb = files.filter(file -> file.toString().endsWith(".deb"))
                    .findFirst()
                    .orElseThrow();
        }
        run(Map.of(), "dpkg-deb", "-x", deb.toString(), root.toString()).succeeds();
        assertTrue(Files.size(deb) < 150 << 20, built);
        String granary = root.resolve("opt/granary/bin/granary").toString();
        assertEquals(
                "granary 0.1.0\n",
                run(Map.of(), granary, "--version").succeeds().text());
        run(Map.of(), root.resolve("opt/granary/lib/record").toString())
                .succeeds(); // as at install
        for (String cache : List.of("granary.aot", "granary-bucket.aot")) {
            assertTrue(Files.size(root.resolve("opt/granary/lib/" + cache)) > 1 << 20, cache);
        }
        assertTrue(run(Map.of("GRANARY_JAVA_OPTIONS", "-Xlog:class+load"), granary, "--version")
                .text()
                .contains("dev.granary.cli.Main source: shared objects file"));

        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            Map<String, String> variables = new HashMap<>(Map.of(
                    "GRANARY_DIR", directory.resolve("local").toString(),
                    "GRANARY_BUCKET", "s3://kernels/team",
                    "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                    "AWS_ACCESS_KEY_ID", server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", server.secretKey(),
                    "AWS_REGION", "us-east-1",
                    "POCL_CACHE_DIR", directory.resolve("pocl").toString()));
            variables.put("D", directory.resolve("tool").toString());
            Path log = directory.resolve("classes.log");
            run(
                            variables,
                            granary,
                            "wrap",
                            "--dir",
                            "x=" + variables.get("D"),
                            "--",
                            "sh",
                            "-c",
                            "printf kernel >$D/k")
                    .succeeds();
            Files.delete(Path.of(variables.get("D"), "k"));
            variables.put("GRANARY_DIR", directory.resolve("other").toString());
            variables.put("GRANARY_JAVA_OPTIONS", "-Xlog:class+load:file=" + log);
            run(variables, granary, "wrap", "--dir", "x=" + variables.get("D"), "--", "true")
                    .succeeds();
            variables.remove("GRANARY_JAVA_OPTIONS");
            assertTrue(
                    Files.readString(log)
                            .contains("awssdk.services.s3.S3Client source: shared objects file"),
                    "the cache has no classes of buckets");
            assertEquals("kernel", Files.readString(Path.of(variables.get("D"), "k")));
            Files.writeString(
                    directory.resolve("add.cl"), "__kernel void add(__global int *a) { *a += 1; }");
            String manifest = Files.writeString(
                            directory.resolve("kernels.toml"),
                            "[[kernel]]\nname = 'add'\nsource = 'add.cl'\n")
                    .toString();
            if (!OpenCl.devices().isEmpty()) {
                run(variables, granary, "populate", manifest).succeeds();
                variables.put("GRANARY_DIR", directory.resolve("third").toString());
                String got = run(variables, granary, "get", manifest).succeeds().text();
                assertTrue(got.contains("bucket"), got);
            }
            assertTrue(run(variables, granary, "ls", "s3://kernels/team")
                    .succeeds()
                    .text()
                    .contains("files/x"));
        }

        if (Files.exists(Path.of("/usr/bin/mmdebstrap"))
                && run(Map.of(), "id", "-u").text().equals("0\n")) {
            image(deb);
        }

        Path list = root.resolve("opt/granary/sbom.cdx.json");
        assertTrue(Pattern.compile("platform.*JDK.*\\R.*library")
                .matcher(Files.readString(list))
                .find());

        Path share = root.resolve("usr/share");
        run(
                        Map.of(),
                        "bash",
                        "-n",
                        share.resolve("bash-completion/completions/granary").toString())
                .succeeds();
        assertTrue(Files.readString(share.resolve("fish/vendor_completions.d/granary.fish"))
                .contains("'__fish_seen_subcommand_from populate' -l fresh"));
        String manual = run(
                        Map.of(), "zcat", share.resolve("man/man1/granary.1.gz").toString())
                .succeeds()
                .text();
        assertTrue(manual.contains(".SS populate") && manual.contains("--fresh"), manual);
        for (String unit : List.of(
                "granary-warm.service", "granary-compact.timer", "granary-collect.service")) {
            assertTrue(Files.exists(root.resolve("usr/lib/systemd/system/" + unit)), unit);
        }
    }

    /** Makes the container image twice, and runs the command in its root as its user. */
    private void image(Path deb) throws Exception {
        List<String> digests = new ArrayList<>();
        Path tar = directory.resolve("image.tar");
        for (int i = 0; i < 2; i++) {
            run(Map.of(), HOME.resolve("package/image").toString(), deb.toString(), tar.toString())
                    .succeeds();
            digests.add(run(Map.of(), "sha256sum", tar.toString()).succeeds().text());
        }
        assertEquals(digests.get(0), digests.get(1), "equal packages make equal images");
        assertTrue(
                Files.size(tar) < 200 << 20,
                () -> "the image has " + tar.toFile().length());
        String script = """
                set -e
                tar -xf image.tar -C files
                tar -xf files/[0-9a-f]*.tar -C rootfs
                unshare --mount sh -c 'mount --rbind /proc rootfs/proc
                  exec chroot --userspec=1000:1000 rootfs /usr/bin/granary --version'
                grep -o '"User": "[0-9:]*"' files/[0-9a-f]*.json
                """;
        Files.createDirectories(directory.resolve("files"));
        Files.createDirectories(directory.resolve("rootfs"));
        assertEquals(
                "granary 0.1.0\n\"User\": \"1000:1000\"\n",
                run(Map.of(), "sh", "-c", "cd " + directory + "\n" + script)
                        .succeeds()
                        .text());
    }
}
