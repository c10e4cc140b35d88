package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonObject;

import dev.granary.cli.Cli;
import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.examples.CcEngine;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import javax.tools.ToolProvider;

/** Tests of recordings of engines of programs, and of {@code populate --engine}. */
class OwnEnginesTest {
    private final Path directory;
    private final TestFleet fleet;
    private final Path recording;

    OwnEnginesTest(@TempDir Path directory) throws Exception {
        assumeTrue(SystemTool.run("cc", "--version"), "no C compiler: apt-get install gcc");
        this.directory = directory;
        this.fleet = new TestFleet(directory);
        this.recording = directory.resolve("kernels.toml");
    }

    @AfterEach
    void stop() {
        fleet.close();
    }

    private PrimitiveSource square(GranaryConfigBuilder config) throws Exception {
        try (CcKernels engine = new CcKernels();
                Granary granary = Granary.builder().config(config.build()).open()) {
            var found = granary.lookup(
                    engine,
                    KernelDescriptor.builder(engine.target(), "square")
                            .source("double square(double x) { return x * x; }")
                            .build());
            assertEquals(9, found.primitive().compiled().call(3));
            return found.source();
        }
    }

    private static String classPath() {
        return ChildJvm.classPath().stream().map(Path::toString).collect(Collectors.joining(":"));
    }

    private Cli populate(String... more) {
        List<String> arguments = new ArrayList<>(List.of(
                "populate",
                recording.toString(),
                "--endpoint",
                fleet.endpoint(),
                "--bucket",
                "s3://kernels/ci"));
        arguments.addAll(List.of(more));
        if (!arguments.contains("--dir")) {
            arguments.addAll(List.of("--dir", directory.resolve("ci").toString()));
        }
        return Cli.run(arguments.toArray(String[]::new));
    }

    @Test
    @DisplayName("a kernel of an own engine is recorded, populated by the engine's class, and then"
            + " comes from the bucket")
    void recorded() throws Exception {
        assertEquals(
                PrimitiveSource.COMPILED,
                square(new TestNode(directory.resolve("developer"), new FakeBucket())
                        .config()
                        .offline()
                        .record(recording.toString())));
        Cli.run("manifest", recording.toString()).exits(0).prints("1 recorded id, 0 problems");
        Path classes = Files.createDirectory(directory.resolve("classes"));
        Path source = Files.writeString(
                classes.resolve("Mine.java"),
                "public class Mine extends " + CcKernels.class.getName() + " {\n"
                        + "    public Mine() throws Exception {}\n}\n");
        assertEquals(
                0,
                ToolProvider.getSystemJavaCompiler()
                        .run(
                                null,
                                null,
                                null,
                                "-proc:none",
                                "-cp",
                                classPath(),
                                source.toString()));
        populate("--engine", "Mine", "--class-path", classes.toString())
                .exits(0)
                .prints("1 compiled", "1 published");
        assertEquals(PrimitiveSource.BUCKET, square(fleet.config("node")));
        populate()
                .exits(1)
                .reports("1 kernel recorded for other engines: cc, so nothing was compiled");
        Files.writeString(directory.resolve("add.cl"), "kernel void add(global float *a) {}\n");
        Files.writeString(
                recording,
                Files.readString(recording) + "\n[[kernel]]\nname = 'add'\nsource = 'add.cl'\n");
        if (!OpenCl.devices().isEmpty()) {
            populate()
                    .exits(0)
                    .prints(
                            "1 kernel recorded for other engines: cc, and left out",
                            "1 kernel: 1 compiled");
        }
    }

    @Test
    @DisplayName("--engine with another class, and --class-path without the file, say what to do")
    void mistakes() throws Exception {
        Files.writeString(directory.resolve("add.cl"), "kernel void add(global float *a) {}\n");
        Files.writeString(recording, "[[kernel]]\nname = 'add'\nsource = 'add.cl'\n");
        populate("--engine", "com.example.None").exits(2).reports("--class-path");
        populate("--engine", String.class.getName())
                .exits(2)
                .reports("does not take KernelDescriptor");
        populate("--engine", CcEngine.class.getName())
                .exits(2)
                .reports("does not take KernelDescriptor");
        populate("--engine", CcKernels.class.getName(), "--class-path", "/no/such.jar")
                .exits(2)
                .reports("there is no /no/such.jar");
    }

    @Test
    @DisplayName("jobs that populate one manifest at once divide it by their claims, and publish"
            + " in packs; each ends with all kernels in the bucket")
    void divided() throws Exception {
        int kernels = 8;
        int jobs = 2;
        StringBuilder manifest = new StringBuilder();
        for (int i = 0; i < kernels; i++) {
            Files.writeString(directory.resolve(i + ".cl"), "kernel void k" + i + "() {}\n");
            manifest.append("[[kernel]]\nname = 'k" + i + "'\nsource = '" + i + ".cl'\n");
        }
        Files.writeString(recording, manifest);
        List<Callable<JsonObject>> all = IntStream.range(0, jobs)
                .<Callable<JsonObject>>mapToObj(job -> () -> populate(
                                "--engine",
                                SleepingEngine.class.getName(),
                                "--dir",
                                directory.resolve("job-" + job).toString(),
                                "--jobs",
                                "1",
                                "--json")
                        .exits(0)
                        .json())
                .toList();
        List<Integer> compiled = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(jobs)) {
            for (Future<JsonObject> job : threads.invokeAll(all)) {
                JsonObject report = job.get();
                JsonObject summary = report.getAsJsonObject("summary");
                compiled.add(summary.get("compiled").getAsInt());
                assertEquals(
                        kernels,
                        report.getAsJsonObject("published").get("readBack").getAsInt(),
                        report::toString);
            }
        }
        int sum = compiled.stream().mapToInt(Integer::intValue).sum();
        // on a very busy machine a wait may end early, which costs a compile
        assertTrue(sum >= kernels && sum < kernels * 3 / 2, compiled::toString);
        assertTrue(compiled.stream().allMatch(count -> count > 0), compiled::toString);
        assertEquals(
                jobs,
                fleet.requests().stream()
                        .filter(each -> each.startsWith("PUT") && each.contains("pack"))
                        .count());
    }

    private static void use(GranaryConfigBuilder config, String... names) throws Exception {
        try (SleepingEngine engine = new SleepingEngine();
                Granary granary = Granary.builder().config(config.build()).open()) {
            for (String name : names) {
                granary.primitive(
                        engine,
                        KernelDescriptor.builder(engine.target(), name)
                                .source("kernel void " + name + "() {}\n")
                                .build());
            }
        }
    }

    @Test
    @DisplayName("--like compiles for a new driver what machines of the old one have noted to use")
    void like() throws Exception {
        use(
                new TestNode(directory.resolve("developer"), new FakeBucket())
                        .config()
                        .offline()
                        .record(recording.toString()),
                "one",
                "two");
        String old = new SleepingEngine().target().path();
        String[] newer = {"--engine", SleepingEngine.Newer.class.getName(), "--like"};
        populate(newer[0], newer[1], newer[2], old).exits(1).reports("no machine of " + old);
        use(fleet.config("node"), "two");
        populate(newer[0], newer[1], newer[2], old)
                .exits(0)
                .prints("1 of 2 kernels by " + old, "1 kernel: 1 compiled", "1 published");
        populate(newer[0], newer[1], newer[2], "opencl/none")
                .exits(2)
                .reports("no kernel of the manifest was recorded for it");
    }
}
