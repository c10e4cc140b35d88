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
    private ExampleProjects projects;

    ExamplesTest(@TempDir Path home) {
        Assumptions.assumeFalse(
                OpenCl.devices().isEmpty(), "no OpenCL device: apt-get install pocl-opencl-icd");
        this.home = home;
    }

    @BeforeAll
    void build() throws Exception {
        projects = ExampleProjects.build(home);
    }

    private static void assertRuns(String source, InstalledProgram.Result result) {
        assertEquals(0, result.exitCode(), result::toString);
        assertTrue(result.out().startsWith(source + RIGHT), result::toString);
    }

    @Test
    @DisplayName("hello needs two artifacts and no flag: no S3 client is on its class path, and a"
            + " bucket is an error that names the artifact to add")
    void hello() throws Exception {
        List<String> clients = projects.jarNames("hello").stream()
                .filter(name -> Stream.of("amazon", "sdk", "s3-2", "minio", "http", "s3proxy")
                        .anyMatch(name::contains))
                .toList();
        assertEquals(List.of(), clients);
        String jar = projects.jar("hello").toString();
        InstalledProgram.Result first = projects.run("hello", Map.of(), "-jar", jar);
        assertRuns("COMPILED", first);
        // the flag against these cannot stand in a manifest
        assertTrue(
                first.err()
                        .lines()
                        .allMatch(line -> line.startsWith("WARNING: ")
                                && !line.contains("kryo")
                                && (line.contains("sun.misc.Unsafe")
                                        || line.contains("MemoryBackendUnsafe"))),
                first::toString);
        InstalledProgram.Result quiet = projects.run(
                "hello",
                Map.of(),
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=deny",
                "-jar",
                jar);
        assertEquals("", quiet.err(), "with the flags of docs/embedding.md");
        assertRuns("LOCAL", quiet);
        // with the other client: ClientLibraryTest
        InstalledProgram.Result bucket =
                projects.run("hello", Map.of("GRANARY_BUCKET", "s3://kernels"), "-jar", jar);
        assertNotEquals(0, bucket.exitCode(), bucket::toString);
        assertTrue(
                bucket.err()
                        .contains("The client of s3://kernels is aws, but its library is missing;"
                                + " add dev.granary:granary-client-aws to the program"),
                bucket::toString);
    }

    @Test
    @DisplayName("A program compiles with Granary's own artifacts: what no API shows is on its"
            + " run-time path only, for the class path and for the module path")
    void compilePath() throws Exception {
        for (String project : List.of("hello", "http-layer", ExampleProjects.LEVEL_ZERO)) {
            List<String> artifacts = projects.compilePath(project);
            assertTrue(artifacts.contains("granary-coordinator"), artifacts::toString);
            assertEquals(
                    List.of(),
                    artifacts.stream()
                            .filter(artifact -> !artifact.startsWith("granary-")
                                    && !artifact.equals("jspecify")) // of annotations
                            .toList(),
                    project);
        }
    }

    @Test
    @DisplayName("a program with Level Zero alone has no jar of LWJGL, on the class path and on"
            + " the module path: it compiles, restores and tries a restore, and the use of OpenCL"
            + " is an error that names the artifact to add")
    void levelZeroAlone() throws Exception {
        assertEquals(
                List.of(),
                projects.jarNames(ExampleProjects.LEVEL_ZERO).stream()
                        .filter(name -> name.contains("lwjgl"))
                        .toList());
        LevelZeroProgram program =
                LevelZeroProgram.withDriver(projects, home.resolve("level-zero"));
        program.assertRunsOnClassPath("COMPILED");
        program.assertRunsOnModulePath("LOCAL");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("LWJGL on the class path is no binding for named modules, which do not read it")
    void unreadableBinding() throws Exception {
        LevelZeroProgram program =
                LevelZeroProgram.withDriver(projects, home.resolve("unreadable"));
        program.assertRunsOnModulePath(
                "COMPILED", "--class-path", projects.libraries("hello") + "/*");
    }

    @Test
    @DisplayName("the command carries no S3 server")
    void noServer() throws Exception {
        assertEquals(
                List.of(),
                projects.jarNames("ci").stream()
                        .filter(name -> name.matches(".*(s3proxy|jetty|jclouds|embedded).*"))
                        .toList());
    }

    @Test
    @DisplayName("docs/embedding.md has the jars and megabytes of programs with Level Zero, of"
            + " those with OpenCL, and of the command")
    void sizes() throws Exception {
        String page = Files.readString(LocalRepository.TREE.resolve("docs/embedding.md"));
        Map<String, String> artifacts = Map.of(
                ExampleProjects.LEVEL_ZERO,
                "granary-coordinator",
                "hello",
                "granary-opencl-lwjgl",
                "ci",
                "granary-cli");
        for (Map.Entry<String, String> row : artifacts.entrySet()) {
            ExampleProjects.Size size = projects.size(row.getKey());
            Matcher documented = Pattern.compile(
                            "\\| `" + row.getValue() + "` \\| (\\d+) \\| ([0-9.]+) \\|")
                    .matcher(page);
            assertTrue(documented.find(), row::toString);
            assertEquals(Integer.parseInt(documented.group(1)), size.jars(), row::toString);
            // the jars of this project grow with each change
            assertEquals(
                    Double.parseDouble(documented.group(2)),
                    size.bytes() / 1e6,
                    0.5,
                    row::toString);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a named module runs kernels with --module-path only")
    void modulePath() throws Exception {
        String[] command = projects.onModulePath("hello", "com.example.hello.Hello");
        InstalledProgram.Result first = projects.run("module", Map.of(), command);
        assertRuns("COMPILED", first);
        assertRuns("LOCAL", projects.run("module", Map.of(), command));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("hello runs in an image of jlink that has only the modules it needs")
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
                        projects.jar("hello") + ":" + projects.libraries("hello"),
                        "--module",
                        "com.example.hello/com.example.hello.Hello"))
                .variables(Map.of(
                        "GRANARY_DIR", home.resolve("image-1").toString(),
                        "POCL_CACHE_DIR", home.resolve("pocl-image").toString()))
                .run();
        assertRuns("COMPILED", result);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the command runs on the module path, with the MinIO client")
    void command() throws Exception {
        Map<String, String> bucket = new HashMap<>(TestS3.server().environment());
        bucket.put("GRANARY_S3_CLIENT", "minio"); // the service has the other one
        assertPopulates("command-1", bucket, projects.project("ci").resolve("kernels.toml"), 1);
    }

    /** Populates by the command on the module path. */
    private void assertPopulates(
            String node, Map<String, String> variables, Path manifest, int published)
            throws Exception {
        InstalledProgram.Result result = projects.run(
                node,
                variables,
                "--module-path",
                projects.libraries("ci").toString(),
                "--module",
                "dev.granary.cli/dev.granary.cli.Main",
                "populate",
                manifest.toString());
        assertEquals(0, result.exitCode(), result::toString);
        assertTrue(result.out().contains(": " + published + " published, "), result::toString);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a program with launch code of its own: its recording populates a bucket, and a"
            + " node compiles nothing, with LWJGL 3.4.3 and 3.3.3")
    void ownLaunches() throws Exception {
        String right = " programs compiled, right results, ";
        Path recording = home.resolve("sky.toml");
        InstalledProgram.Result first = projects.run(
                "sky",
                Map.of("GRANARY_RECORD", recording.toString()),
                "-jar",
                projects.jar("own-launches").toString());
        assertEquals(0, first.exitCode(), first::toString);
        assertTrue(first.out().startsWith("11" + right), first::toString);
        Map<String, String> bucket = TestS3.server().environment();
        assertPopulates("sky-ci", bucket, recording, 11);
        List<Path> libraries;
        try (Stream<Path> files = Files.list(projects.libraries("own-launches"))) {
            libraries = files.filter(file -> !file.getFileName().toString().startsWith("lwjgl"))
                    .toList();
        }
        for (Path lwjgl :
                List.of(projects.libraries("own-launches"), Path.of("target", "lwjgl-3.3.3"))) {
            List<String> classPath = new ArrayList<>();
            classPath.add(projects.jar("own-launches").toString());
            libraries.forEach(file -> classPath.add(file.toString()));
            try (Stream<Path> files = Files.list(lwjgl.toAbsolutePath())) {
                files.filter(file -> file.getFileName().toString().startsWith("lwjgl"))
                        .forEach(file -> classPath.add(file.toString()));
            }
            InstalledProgram.Result node = projects.run(
                    "sky-" + lwjgl.getFileName(),
                    bucket,
                    "-cp",
                    String.join(":", classPath),
                    "com.example.sky.Sky");
            assertEquals(0, node.exitCode(), node::toString);
            assertTrue(node.out().startsWith("0" + right), node::toString);
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the service computes in its own context, publishes, reports its metrics, and"
            + " ends in order: one on the module path compiles, one on the class path gets it from"
            + " the bucket")
    void service() throws Exception {
        Map<String, String> bucket = TestS3.server().environment();
        String[] modules = projects.onModulePath("service", "com.example.service.Service");
        String[] classPath = {"-jar", projects.jar("service").toString()};
        int compiled = 3; // before the service answers
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
                assertTrue(metrics.contains("\ngranary_program_hits_total 2.0\n"), metrics);
                assertTrue(metrics.contains("\ngranary_programs 3.0\n"), metrics);
                // PoCL's binaries are complete when a kernel was launched; close stores the others
                Pattern last = Pattern.compile(
                        compiled > 0
                                ? "granary_layer_stored_total\\{.*} 1.0"
                                : "granary_layer_hits_total\\{.*} 3.0");
                Await.holds(
                        () -> get(address, "/metrics").lines().anyMatch(line -> last.matcher(line)
                                .matches()));
                process.toHandle().destroy(); // SIGTERM
                assertEquals(143, process.waitFor());
            }
            compiled = 0; // the second gets them from the bucket
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
        assertPipeline(
                "github",
                PipelineJob.ofGitHub(
                        projects.project("ci").resolve(".github/workflows/kernels.yml")));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("the commands of the GitLab pipeline do the same")
    void gitlab() throws Exception {
        assertPipeline(
                "gitlab", PipelineJob.ofGitLab(projects.project("ci").resolve(".gitlab-ci.yml")));
    }

    /**
     * Runs the commands in one shell, with a bucket of the test; then a node without a compiler.
     */
    private void assertPipeline(String pipeline, PipelineJob job) throws Exception {
        assertEquals(3, job.commands().size(), job::toString);
        Map<String, String> bucket = TestS3.server().environment();
        InstalledProgram.Result ci = projects.runPipeline(pipeline, job, bucket);
        assertEquals(0, ci.exitCode(), ci::toString);
        assertTrue(ci.out().contains(": 1 published, 0 there already, 0 failed"), ci::toString);
        // hello with the S3 client of the service
        String classPath = projects.jar("hello") + ":" + projects.libraries("service") + "/*";
        assertRuns(
                "BUCKET",
                projects.run(
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
        projects.repository().run(projects.project("http-layer"), "test");
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a kernel of an exported tree comes from a plain file server, and stays if that is"
            + " gone")
    void httpLayer() throws Exception {
        assertRuns(
                "COMPILED",
                projects.run("exported", Map.of(), "-jar", projects.jar("hello").toString()));
        Path tree = home.resolve("tree");
        ChildJvm.of(Main.class)
                .shortLived()
                .run("copy", home.resolve("exported").toString(), tree.toString())
                .output();
        HttpServer server = SimpleFileServer.createFileServer(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                tree,
                SimpleFileServer.OutputLevel.NONE);
        server.start();
        String address = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
        String layer = projects.jar("http-layer").toString();
        try {
            assertRuns("BUCKET", projects.run("http", Map.of(), "-jar", layer, address));
        } finally {
            server.stop(0);
        }
        assertRuns("LOCAL", projects.run("http", Map.of(), "-jar", layer, address));
        // not there, and no server: a miss
        assertRuns("COMPILED", projects.run("http-2", Map.of(), "-jar", layer, address));
    }
}
