package dev.granary.it.installed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.SimpleFileServer;

import dev.granary.cli.Main;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.s3.contract.TestS3;
import dev.granary.testing.Await;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.InteractiveProcess;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Tests of the examples. They are copied out of this tree, built against the installed artifacts,
 * and run as their pages state: with {@code java -jar}, or on the module path without flags.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ExamplesTest {
    private static final String RIGHT = ", 65536 right results on ";

    private final Path home;
    private final Path examples;
    private final LocalRepository repository;

    ExamplesTest(@TempDir Path home) throws IOException {
        Assumptions.assumeFalse(
                OpenCl.devices().isEmpty(), "no OpenCL device: apt-get install pocl-opencl-icd");
        this.home = home;
        this.examples = home.resolve("examples");
        this.repository = LocalRepository.create(home);
    }

    @BeforeAll
    void build() throws Exception {
        Assumptions.assumeTrue(SystemTool.run("mvn", "--version"), "no mvn on the PATH");
        LocalRepository.copyTree(LocalRepository.TREE.resolve("examples"), examples);
        repository.run(examples, "package", "-DskipTests");
    }

    private Path jar(String example) {
        return examples.resolve(example).resolve("target").resolve(example + "-1.0.jar");
    }

    private Path libraries(String example) {
        return examples.resolve(example).resolve("target/lib");
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    /** Runs with a local directory of this name. */
    private InstalledProgram.Result run(String node, Map<String, String> more, String... arguments)
            throws Exception {
        return InstalledProgram.java(arguments)
                .variables(Map.of(
                        "GRANARY_DIR", home.resolve(node).toString(),
                        "POCL_CACHE_DIR", home.resolve("pocl-" + node).toString()))
                .variables(more)
                .run();
    }

    private static void assertRuns(String source, InstalledProgram.Result result) {
        assertEquals(0, result.exitCode(), result::toString);
        assertTrue(result.out().startsWith(source + RIGHT), result::toString);
    }

    @Test
    @DisplayName("U6 hello needs one artifact and no flag: no S3 client is on its class path, and a"
            + " bucket is an error that names the artifact to add")
    void hello() throws Exception {
        List<String> clients = names(libraries("hello")).stream()
                .filter(name -> Stream.of("amazon", "sdk", "s3-2", "minio", "http", "s3proxy")
                        .anyMatch(name::contains))
                .toList();
        assertEquals(List.of(), clients);
        String jar = jar("hello").toString();
        InstalledProgram.Result first = run("hello", Map.of(), "-jar", jar);
        assertRuns("COMPILED", first);
        // the flag against these cannot stand in a manifest
        assertTrue(
                first.err()
                        .lines()
                        .allMatch(line -> line.startsWith("WARNING: ")
                                && (line.contains("sun.misc.Unsafe")
                                        || line.contains("MemoryBackendUnsafe"))),
                first::toString);
        assertRuns("LOCAL", run("hello", Map.of(), "-jar", jar));
        for (String client : List.of("aws", "minio")) {
            InstalledProgram.Result bucket = run(
                    "hello",
                    Map.of("GRANARY_BUCKET", "s3://kernels", "GRANARY_S3_CLIENT", client),
                    "-jar",
                    jar);
            assertNotEquals(0, bucket.exitCode(), bucket::toString);
            assertTrue(
                    bucket.err()
                            .contains("The client of s3://kernels is " + client
                                    + ", but its library is missing; add"
                                    + " dev.granary:granary-client-" + client
                                    + " to the program"),
                    bucket::toString);
        }
    }

    @Test
    @DisplayName("U6 docs/embedding.md has the jars and megabytes of a program with a directory"
            + " only, and of the command")
    void sizes() throws Exception {
        String page = Files.readString(LocalRepository.TREE.resolve("docs/embedding.md"));
        Map<String, String> artifacts = Map.of("hello", "granary-coordinator", "ci", "granary-cli");
        for (Map.Entry<String, String> row : artifacts.entrySet()) {
            long jars = 0;
            long bytes = 0;
            for (String name : names(libraries(row.getKey()))) {
                boolean isOwn = row.getKey().equals("hello") && name.startsWith("slf4j-simple");
                if (!isOwn) {
                    jars++;
                    bytes += Files.size(libraries(row.getKey()).resolve(name));
                }
            }
            Matcher documented = Pattern.compile(
                            "\\| `" + row.getValue() + "` \\| (\\d+) \\| ([0-9.]+) \\|")
                    .matcher(page);
            assertTrue(documented.find(), row::toString);
            assertEquals(Long.parseLong(documented.group(1)), jars, row::toString);
            // the jars of this project grow with each change
            assertEquals(Double.parseDouble(documented.group(2)), bytes / 1e6, 0.5, row::toString);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("U6 a named module runs kernels with --module-path only")
    void modulePath() throws Exception {
        String[] command = {
            "--module-path",
            jar("hello") + ":" + libraries("hello"),
            "--module",
            "com.example.hello/com.example.hello.Hello"
        };
        InstalledProgram.Result first = run("module", Map.of(), command);
        assertRuns("COMPILED", first);
        assertRuns("LOCAL", run("module", Map.of(), command));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("U6 hello runs in an image of jlink that has only the modules it needs")
    void image() throws Exception {
        Path image = home.resolve("image");
        InstalledProgram.Result linked = InstalledProgram.of(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "jlink").toString(),
                        "--add-modules",
                        "java.base,jdk.jfr,jdk.unsupported",
                        "--output",
                        image.toString()))
                .run();
        assertEquals(0, linked.exitCode(), linked::toString);
        InstalledProgram.Result result = InstalledProgram.of(List.of(
                        image.resolve("bin/java").toString(),
                        "--module-path",
                        jar("hello") + ":" + libraries("hello"),
                        "--module",
                        "com.example.hello/com.example.hello.Hello"))
                .variables(Map.of(
                        "GRANARY_DIR", home.resolve("image-1").toString(),
                        "POCL_CACHE_DIR", home.resolve("pocl-image").toString()))
                .run();
        assertRuns("COMPILED", result);
    }

    @Test
    @DisplayName("U6 the command runs on the module path, with the MinIO client")
    void command() throws Exception {
        // S3Proxy cannot be a module; only the demo and the server inside the JVM use it
        Path libraries = Files.createDirectories(home.resolve("command"));
        for (String name : names(libraries("ci"))) {
            if (!name.startsWith("s3proxy")) {
                Files.createSymbolicLink(
                        libraries.resolve(name), libraries("ci").resolve(name));
            }
        }
        Map<String, String> bucket = new HashMap<>(TestS3.server().environment());
        bucket.put("GRANARY_S3_CLIENT", "minio"); // the service has the other one
        InstalledProgram.Result populated = run(
                "command-1",
                bucket,
                "--module-path",
                libraries.toString(),
                "--module",
                "dev.granary.cli/dev.granary.cli.Main",
                "populate",
                examples.resolve("ci/kernels.toml").toString());
        assertEquals(0, populated.exitCode(), populated::toString);
        assertTrue(populated.out().contains(": 1 published, "), populated::toString);
    }

    @Test
    @DisplayName("U6 the service computes in its own context, publishes, reports its metrics, and"
            + " ends in order: one on the module path compiles, one on the class path gets it from"
            + " the bucket")
    void service() throws Exception {
        Map<String, String> bucket = TestS3.server().environment();
        String[] modules = {
            "--module-path",
            jar("service") + ":" + libraries("service"),
            "--module",
            "com.example.service/com.example.service.Service"
        };
        String[] classPath = {"-jar", jar("service").toString()};
        int compiled = 1;
        for (String[] command : List.of(modules, classPath)) {
            Process process = InstalledProgram.java(command)
                    .variables(Map.of(
                            "GRANARY_DIR", home.resolve("service-" + compiled).toString(),
                            "POCL_CACHE_DIR",
                                    home.resolve("pocl-service-" + compiled).toString()))
                    .variables(bucket)
                    .start();
            try (InteractiveProcess service = new InteractiveProcess(process)) {
                URI address = URI.create(service.answer());
                assertEquals("200 8.0", get(address, "/power/3?x=2"));
                assertEquals("200 -27.0", get(address, "/power/3?x=-3"));
                assertEquals(
                        "400 GET /power/K?x=X, with K from 1 to 32", get(address, "/power/99?x=2"));
                String metrics = get(address, "/metrics");
                assertTrue(
                        metrics.contains("\ngranary_compiled_total " + compiled + ".0\n"), metrics);
                assertTrue(metrics.contains("\ngranary_kernel_hits_total 1.0\n"), metrics);
                assertTrue(metrics.contains("\ngranary_programs 1.0\n"), metrics);
                String last = compiled == 1
                        ? "granary_bucket_stored_total 1.0"
                        : "granary_bucket_hits_total 1.0";
                Await.holds(() -> get(address, "/metrics").lines().anyMatch(last::equals));
                process.toHandle().destroy(); // SIGTERM
                assertEquals(143, process.waitFor());
            }
            compiled--; // the second gets it from the bucket
        }
    }

    private static String get(URI address, String path) {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<String> response = client.send(
                    HttpRequest.newBuilder(address.resolve(path)).build(),
                    HttpResponse.BodyHandlers.ofString());
            assertEquals(
                    "text/plain; version=0.0.4; charset=utf-8",
                    response.headers().firstValue("Content-Type").orElse(""));
            return response.statusCode() + " " + response.body().strip();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the commands of the GitHub workflow populate a bucket: a node compiles nothing")
    void github() throws Exception {
        assertPopulates(
                "github",
                PipelineJob.ofGitHub(examples.resolve("ci/.github/workflows/kernels.yml")));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the commands of the GitLab pipeline do the same")
    void gitlab() throws Exception {
        assertPopulates("gitlab", PipelineJob.ofGitLab(examples.resolve("ci/.gitlab-ci.yml")));
    }

    /**
     * Runs the commands in one shell, with a bucket of the test; then a node without a compiler.
     */
    private void assertPopulates(String pipeline, PipelineJob job) throws Exception {
        assertEquals(3, job.commands().size(), job::toString);
        Map<String, String> bucket = TestS3.server().environment();
        Map<String, String> variables = new HashMap<>(job.variables());
        variables.putAll(bucket); // the server of the test, and its credentials
        variables.put("GRANARY_DIR", home.resolve(pipeline).toString());
        variables.put("POCL_CACHE_DIR", home.resolve("pocl-" + pipeline).toString());
        Path bin = LocalRepository.mavenWith(repository.arguments(), home.resolve("bin"));
        List<String> script = new ArrayList<>(List.of("set -e", "PATH=" + bin + ":$PATH"));
        script.addAll(job.commands());
        InstalledProgram.Result ci = InstalledProgram.of(
                        List.of("/bin/bash", "-c", String.join("\n", script)))
                .directory(examples.resolve("ci"))
                .variables(variables)
                .run();
        assertEquals(0, ci.exitCode(), ci::toString);
        assertTrue(ci.out().contains(": 1 published, 0 there already, 0 failed"), ci::toString);
        // hello with the S3 client of the service
        String classPath = jar("hello") + ":" + libraries("service") + "/*";
        assertRuns(
                "BUCKET",
                run(
                        "node-" + pipeline,
                        bucket,
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        classPath,
                        "com.example.hello.Hello"));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the example of a plugged layer passes its tests: the contract suite, and bad"
            + " servers")
    void httpLayerTests() throws Exception {
        repository.run(examples.resolve("http-layer"), "test");
    }

    @Test
    @DisplayName("a kernel of an exported tree comes from a plain file server, and stays if that is"
            + " gone")
    void httpLayer() throws Exception {
        assertRuns("COMPILED", run("exported", Map.of(), "-jar", jar("hello").toString()));
        Path tree = home.resolve("tree");
        ChildJvm.of(Main.class)
                .run(
                        "export",
                        tree.toString(),
                        "--dir",
                        home.resolve("exported").toString())
                .output();
        HttpServer server = SimpleFileServer.createFileServer(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                tree,
                SimpleFileServer.OutputLevel.NONE);
        server.start();
        String address = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
        String layer = jar("http-layer").toString();
        try {
            assertRuns("BUCKET", run("http", Map.of(), "-jar", layer, address));
        } finally {
            server.stop(0);
        }
        assertRuns("LOCAL", run("http", Map.of(), "-jar", layer, address));
        // not there, and no server: a miss
        assertRuns("COMPILED", run("http-2", Map.of(), "-jar", layer, address));
    }
}
