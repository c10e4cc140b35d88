package dev.granary.cli;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Tests of commands as processes whose environment disables their engine. */
class EnabledSettingTest {
    @TempDir
    private Path directory;

    private Cli process(String... arguments) throws IOException, InterruptedException {
        return Cli.of(ChildJvm.of(Main.class)
                .shortLived()
                .variables(Map.of(
                        "GRANARY_ENABLED",
                        "off",
                        "GRANARY_BUCKET",
                        "",
                        "GRANARY_CONFIG",
                        "",
                        "XDG_CONFIG_HOME",
                        directory + "/none"))
                .run(arguments));
    }

    @Test
    @DisplayName("A disabled engine compiles in run and stores nothing; populate refuses it, before"
            + " it needs the bucket")
    void disabled() throws Exception {
        Assumptions.assumeFalse(OpenCl.devices().isEmpty(), "no OpenCL device");
        Files.writeString(directory.resolve("k.cl"), "kernel void k(global int *a) { a[0] = 1; }");
        String manifest = Files.writeString(
                        directory.resolve("kernels.toml"),
                        "[[kernel]]\nname = \"k\"\nsource = \"k.cl\"\n")
                .toString();
        String local = directory.resolve("local").toString();
        process("get", manifest, "--dir", local).exits(0);
        Cli.run("stats", "--dir", local).exits(0).prints("entries    0", "disabled");
        process("populate", manifest, "--dir", local, "--bucket", "s3://nowhere")
                .exits(2)
                .reports("The setting enabled (GRANARY_ENABLED) disables opencl.");
    }
}
