package dev.granary.cli.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonElement;

import dev.granary.cli.Cli;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Tests that a program finds the entries of a manifest, with a real driver and an embedded server.
 */
class ManifestMeetsCodeTest {
    /** The kernel of the README, as a file of the manifest. */
    private static final String SOURCE = """
            kernel void saxpy(float a, global const float *x, global float *y, int n) {
                int i = get_global_id(0);
                if (i < n) {
                    y[i] = a * x[i] + y[i];
                }
            }
            """;

    private static final int N = 1 << 12;

    private final Path directory;

    ManifestMeetsCodeTest(@TempDir Path directory) {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        this.directory = directory;
    }

    private String manifest(Map<String, String> kernels) throws IOException {
        Files.writeString(directory.resolve("saxpy.cl"), SOURCE);
        Files.writeString(directory.resolve("crlf.cl"), SOURCE.replace("\n", "\r\n"));
        Files.writeString(directory.resolve("longer.cl"), SOURCE + "\n\n");
        Files.writeString(directory.resolve("cut.cl"), SOURCE.strip());
        StringBuilder text = new StringBuilder();
        kernels.forEach(
                (name, lines) -> text.append("[[kernel]]\nname = '" + name + "'\n" + lines + "\n"));
        return Files.writeString(directory.resolve("kernels.toml"), text).toString();
    }

    private static KernelDescriptor readme(OpenClEngine engine, String source) {
        return KernelDescriptor.builder(engine.target(), "saxpy")
                .source(source)
                .options("-cl-fast-relaxed-math")
                .launch("saxpy", Geometry.of(N).local(64))
                .build();
    }

    @Test
    @Tag("exhaustive") // by default spellings, and RecordingTest
    @DisplayName("a program with an empty directory compiles none of the kernels that CI has"
            + " populated from a manifest")
    void populatedForProgram() throws Exception {
        try (EmbeddedS3 s3 = EmbeddedS3.start(null)) {
            s3.createBucket("kernels");
            System.setProperty("aws.accessKeyId", s3.accessKey());
            System.setProperty("aws.secretAccessKey", s3.secretKey());
            Cli.run(
                            "populate",
                            manifest(Map.of("saxpy", """
                                    source = "saxpy.cl"
                                    options = "-cl-fast-relaxed-math"
                                    entry = ["saxpy"]
                                    geometry = { global = [4096], local = [64] }
                                    """)),
                            "--dir",
                            directory.resolve("ci").toString(),
                            "--bucket",
                            "s3://kernels/team",
                            "--endpoint",
                            s3.endpoint().toString())
                    .exits(0)
                    .prints("1 compiled", "1 published");
            GranaryConfig config = GranaryConfig.builder()
                    .environment(Map.of("XDG_CONFIG_HOME", directory + "-none"))
                    .directory(directory.resolve("node"))
                    .bucket("s3://kernels/team")
                    .endpoint(s3.endpoint().toString())
                    .build();
            float[] x = new float[N];
            float[] y = new float[N];
            x[1] = 3;
            y[1] = 1;
            try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst());
                    Granary granary = Granary.open(config);
                    OpenClBuffer xs = engine.bufferOf(x);
                    OpenClBuffer ys = engine.bufferOf(y)) {
                LookupResult<KernelProgram> saxpy =
                        granary.lookup(engine, readme(engine, SOURCE.strip()));
                assertEquals(PrimitiveSource.BUCKET, saxpy.source());
                assertEquals(0, granary.statistics().count(Counter.COMPILED));
                try (LoadedKernels kernels = engine.load(saxpy.primitive())) {
                    kernels.launch("saxpy", Geometry.of(N).local(64), 2.0f, xs, ys, N);
                }
                ys.read(y);
                assertEquals(7, y[1]);
            }
        }
    }

    @Test
    @DisplayName("spellings of one program in a manifest, and the program itself, have one id")
    void spellings() throws Exception {
        String options = "options = \"-cl-fast-relaxed-math\"\n";
        String launch = "launch = [{ kernel = \"saxpy\", global = [4096], local = [64] }]\n";
        String geometry = "geometry = { global = [4096], local = [64] }\n";
        Map<String, String> kernels = new TreeMap<>(Map.of(
                "entry and geometry", "source = 'saxpy.cl'\nentry = ['saxpy']\n" + geometry,
                "launch", "source = 'saxpy.cl'\n" + launch,
                "entry and launch", "source = 'saxpy.cl'\nentry = ['saxpy']\n" + launch,
                "all", "source = 'saxpy.cl'\nentry = ['saxpy']\n" + launch + geometry,
                "line ends", "source = 'crlf.cl'\n" + launch,
                "more lines", "source = 'longer.cl'\n" + launch,
                "no last line end", "source = 'cut.cl'\n" + launch));
        kernels.replaceAll((_, lines) -> lines + options);
        kernels.put("every kernel", "source = 'saxpy.cl'\n" + geometry + options);
        Map<String, String> ids = new TreeMap<>();
        for (JsonElement result : Cli.run(
                        "get",
                        manifest(kernels),
                        "--dir",
                        directory.resolve("spellings").toString(),
                        "--json")
                .exits(0)
                .json()
                .getAsJsonArray("results")) {
            ids.put(
                    result.getAsJsonObject().get("name").getAsString(),
                    result.getAsJsonObject().get("id").getAsString());
        }
        assertEquals(kernels.keySet(), ids.keySet());
        try (OpenClEngine engine = OpenClEngine.open(OpenCl.devices().getFirst())) {
            String expected = readme(engine, SOURCE).getId().toString();
            KernelDescriptor every = KernelDescriptor.builder(engine.target(), "saxpy")
                    .source(SOURCE)
                    .options("-cl-fast-relaxed-math")
                    .launch(Geometry.of(N).local(64))
                    .build();
            assertEquals(every.getId().toString(), ids.remove("every kernel"));
            if (every.launches().isEmpty()) {
                return; // this driver compiles when it builds: no launch is part of an id
            }
            assertEquals(new TreeSet<>(List.of(expected)), new TreeSet<>(ids.values()));
        }
    }
}
