package dev.granary.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Tests of the launcher's decision to install an OpenCL driver. The real script runs in a built
 * tree, with fake programs that record their calls. No driver is found, and nothing is installed.
 */
class LauncherTest {
    private static final Path LAUNCHER = Path.of("..", "granary");

    private final Path tree;
    private final Path log;

    LauncherTest(@TempDir Path directory) throws IOException {
        Assumptions.assumeTrue(
                Files.isExecutable(LAUNCHER) && Files.isExecutable(Path.of("/bin/bash")),
                "no launcher, or no bash");
        this.tree = directory;
        this.log = directory.resolve("called.txt");
        Path target = Files.createDirectories(directory.resolve("cli/target"));
        Files.writeString(target.resolve("granary.classpath"), "nothing.jar");
        Files.createFile(target.resolve("coordinator-test.jar"));
        Files.copy(LAUNCHER, directory.resolve("granary"));
        assertTrue(directory.resolve("granary").toFile().setExecutable(true));
        Files.createDirectories(directory.resolve("jdk/bin"));
        Files.writeString(directory.resolve("jdk/release"), "JAVA_VERSION=\"25.0.1\"\n");
        program("jdk/bin/javac", "exit 0");
        program("jdk/bin/java", "exit 0");
        Files.createDirectories(directory.resolve("bin"));
        program("bin/ls", "exit 2"); // so that no driver is found
        program("bin/mvn", "exit 0");
        program("bin/apt-get", "echo \"apt-get $*\" >> '" + log + "'");
    }

    private void program(String path, String line) throws IOException {
        Path file = Files.writeString(tree.resolve(path), "#!/bin/bash\n" + line + "\n");
        assertTrue(file.toFile().setExecutable(true));
    }

    /** Result of a run: its standard error, and the installations that it started. */
    private record LaunchResult(String err, List<String> installed) {}

    private LaunchResult run(int user, String... arguments) throws Exception {
        program("bin/id", "echo " + user);
        Files.deleteIfExists(log);
        List<String> command =
                new ArrayList<>(List.of("/bin/bash", tree.resolve("granary").toString()));
        command.addAll(Arrays.asList(arguments));
        Path err = tree.resolve("err.txt");
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectError(err.toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD);
        Map<String, String> variables = builder.environment();
        variables.put("PATH", tree.resolve("bin") + ":" + variables.get("PATH"));
        variables.put("JAVA_HOME", tree.resolve("jdk").toString());
        variables.remove("OCL_ICD_VENDORS");
        variables.remove("GRANARY_JAVA_OPTIONS");
        Process process = builder.start();
        assertEquals(0, process.waitFor(), () -> "exit code of " + command);
        return new LaunchResult(
                Files.readString(err, UTF_8),
                Files.exists(log) ? Files.readAllLines(log) : List.of());
    }

    @Test
    @DisplayName(
            "U4 a driver is installed only for demo and test; populate, run and doctor show how to"
                    + " install one")
    void installs() throws Exception {
        for (String command : List.of("populate", "run", "doctor")) {
            LaunchResult result = run(0, command, "kernels.toml");
            assertEquals(List.of(), result.installed(), command);
            assertTrue(
                    result.err().contains("no OpenCL driver is installed")
                            && result.err().contains("apt-get install pocl-opencl-icd"),
                    command + ": " + result);
        }
        for (String command : List.of("warm", "ls", "compact", "stats", "--help", "mvn")) {
            LaunchResult result = run(0, command);
            assertEquals(List.of(), result.installed(), command);
            assertTrue(!result.err().contains("OpenCL"), command + ": " + result);
        }
        for (String command : List.of("demo", "test")) {
            LaunchResult result = run(0, command);
            assertTrue(
                    result.installed().stream()
                            .anyMatch(line ->
                                    line.contains("install") && line.contains("pocl-opencl-icd")),
                    command + ": " + result);
            LaunchResult user = run(1000, command);
            assertEquals(List.of(), user.installed(), "only root installs");
            assertTrue(
                    user.err().contains("sudo apt-get install pocl-opencl-icd"),
                    command + ": " + user);
        }
    }

    @Test
    @DisplayName("the command runs from its jar, not from those that an install leaves beside it;"
            + " install and deploy make what is published")
    void installed() throws Exception {
        for (String name : List.of("", "-sources", "-javadoc")) {
            Files.createFile(tree.resolve("cli/target/granary-cli-1" + name + ".jar"));
        }
        Path called = tree.resolve("java.txt");
        program("jdk/bin/java", "echo \"$@\" >> '" + called + "'");
        program("bin/mvn", "echo \"$@\" >> '" + called + "'");
        run(0, "ls");
        String java = Files.readString(called);
        assertTrue(
                java.contains("-cp " + tree + "/cli/target/granary-cli-1.jar:nothing.jar "), java);
        Files.delete(called);
        run(0, "mvn", "-q", "install");
        run(0, "mvn", "deploy", "-q");
        run(0, "mvn", "-pl", "install-tools", "verify");
        assertEquals(
                List.of("-Ppublish -q install", "-Ppublish deploy -q", "-pl install-tools verify"),
                Files.readAllLines(called));
    }
}
