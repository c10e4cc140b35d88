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
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Tests of the launcher: its decision to install a driver, its ahead-of-time cache, and its summary
 * of tests. The real script runs in a built tree, with fake programs that record their calls. No
 * driver is found, and nothing is installed.
 */
class LauncherTest {
    private static final Path LAUNCHER = Path.of("..", "granary");

    /** A report as Surefire writes it, without stack traces and properties. */
    private static final String REPORT = """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuite name="x.SomeTest" tests="4" errors="0" skipped="1" failures="1">
              <testcase name="sound" classname="dev.granary.SomeTest" time="0.4"/>
              <testcase name="race" classname="dev.granary.SomeTest" time="0.1"/>
              <testcase name="wrong" classname="dev.granary.SomeTest" time="0.1">
                <failure message="expected" type="org.opentest4j.AssertionFailedError"></failure>
              </testcase>
              <testcase name="other" classname="dev.granary.SomeTest" time="0.1">
                <skipped message="Assumption failed: no device"/>
              </testcase>
            </testsuite>
            """;

    private final Path tree;
    private final Path log;

    LauncherTest(@TempDir Path directory) throws IOException {
        Assumptions.assumeTrue(
                Files.isExecutable(LAUNCHER) && Files.isExecutable(Path.of("/bin/bash")),
                "no launcher, or no bash");
        this.tree = directory;
        this.log = directory.resolve("called.txt");
        for (String module : List.of("cli", "examples/demo")) {
            Path target = Files.createDirectories(directory.resolve(module).resolve("target"));
            Files.writeString(target.resolve("granary.classpath"), "nothing.jar");
        }
        Files.copy(LAUNCHER, directory.resolve("granary"));
        assertTrue(directory.resolve("granary").toFile().setExecutable(true));
        Files.createDirectories(directory.resolve("package"));
        Path record = Path.of("package/record");
        Files.copy(LAUNCHER.resolveSibling(record), directory.resolve(record));
        assertTrue(directory.resolve(record).toFile().setExecutable(true));
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

    /** Result of a run: its exit code and output, and the installations that it started. */
    private record LaunchResult(int exitCode, String out, String err, List<String> installed) {}

    private LaunchResult run(int user, String... arguments) throws Exception {
        LaunchResult result = launch(user, arguments);
        assertEquals(0, result.exitCode(), () -> Arrays.toString(arguments) + ": " + result);
        return result;
    }

    private LaunchResult launch(int user, String... arguments) throws Exception {
        program("bin/id", "echo " + user);
        Files.deleteIfExists(log);
        List<String> command =
                new ArrayList<>(List.of("/bin/bash", tree.resolve("granary").toString()));
        command.addAll(Arrays.asList(arguments));
        Path out = tree.resolve("out.txt");
        Path err = tree.resolve("err.txt");
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        Map<String, String> variables = builder.environment();
        variables.put("PATH", tree.resolve("bin") + ":" + variables.get("PATH"));
        variables.put("JAVA_HOME", tree.resolve("jdk").toString());
        variables.keySet().removeIf(name -> name.matches("HOME|LANG|LC_.*")); // as in services
        variables.remove("OCL_ICD_VENDORS");
        variables.remove("GRANARY_JAVA_OPTIONS");
        return new LaunchResult(
                builder.start().waitFor(),
                Files.readString(out, UTF_8),
                Files.readString(err, UTF_8),
                Files.exists(log) ? Files.readAllLines(log) : List.of());
    }

    @Test
    @DisplayName("without a locale, Java gets one with all characters")
    void locale() throws Exception {
        program("jdk/bin/java", "echo \"$LC_CTYPE\"");
        assertEquals("C.UTF-8\n", run(0, "ls").out());
    }

    @Test
    @DisplayName("with --backend level-zero, demo installs Intel's driver, and other commands name"
            + " it; the packages are those of the release")
    void levelZero() throws Exception {
        for (boolean isLater : new boolean[] {false, true}) {
            program("bin/apt-cache", isLater ? "exit 0" : "exit 100");
            String packages =
                    isLater ? "libze1 libze-intel-gpu1 intel-ocloc" : "libze1 intel-opencl-icd";
            LaunchResult demo = run(0, "demo", "--backend", "level-zero");
            assertTrue(
                    demo.installed().stream().anyMatch(line -> line.endsWith(packages)),
                    demo::toString);
            assertTrue(
                    demo.installed().stream().noneMatch(line -> line.contains("pocl")),
                    demo::toString);
            for (LaunchResult result : List.of(
                    run(1000, "demo", "--backend=level-zero"),
                    run(0, "get", "kernels.toml", "--backend", "level-zero"))) {
                assertEquals(List.of(), result.installed());
                assertTrue(
                        result.err().contains("sudo apt-get install " + packages)
                                && !result.err().contains("pocl"),
                        result::toString);
            }
        }
    }

    @Test
    @DisplayName(
            "a driver is installed only for demo and test; populate, run and doctor show how to"
                    + " install one")
    void installs() throws Exception {
        for (String command : List.of("populate", "get", "doctor")) {
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
                List.of("-Pbom -q install", "-Pbom deploy -q", "-pl install-tools verify"),
                Files.readAllLines(called));
    }

    @Test
    @DisplayName("the first run of a build makes caches for a faster start by runs of its own, all"
            + " use them, and a new jar makes new ones")
    void fastStart() throws Exception {
        Path called = tree.resolve("java.txt");
        program(
                "jdk/bin/java",
                "echo \"$@\" >> '" + called + "'; for flag; do case \"$flag\""
                        + " in -XX:AOTCacheOutput=*) echo x >\"${flag#*=}\" ;; esac; done; exit 3");
        Path jar = Files.createFile(tree.resolve("cli/target/granary-cli-1.jar"));
        FileTime hourAgo = FileTime.from(Instant.now().minus(Duration.ofHours(1)));
        Files.setLastModifiedTime(jar, hourAgo);
        for (int build = 1; build <= 2; build++) {
            Files.deleteIfExists(called);
            assertEquals(3, launch(0, "ls").exitCode());
            assertEquals(3, launch(0, "ls").exitCode());
            List<String> calls = Files.readAllLines(called);
            assertEquals(4, calls.size(), calls::toString);
            String output = " -XX:AOTCacheOutput=" + tree;
            assertTrue(calls.get(0).contains(output), calls::toString);
            assertTrue(calls.get(1).contains(output), calls::toString);
            for (String call : calls.subList(2, 4)) {
                assertTrue(call.contains("-XX:AOTCache=" + tree), calls::toString);
                assertTrue(call.endsWith("dev.granary.cli.Main ls"), calls::toString);
            }
            Files.setLastModifiedTime(jar, FileTime.from(Instant.now()));
        }
    }

    @Test
    @DisplayName("the summary of the tests counts failed and skipped ones, with the reasons of the"
            + " latter; older reports do not count")
    void summary() throws Exception {
        Path reports =
                Files.createDirectories(tree.resolve("examples/demo/target/surefire-reports"));
        FileTime hourAgo = FileTime.from(Instant.now().minus(Duration.ofHours(1)));
        Files.setLastModifiedTime(
                Files.writeString(reports.resolve("TEST-older.xml"), REPORT), hourAgo);
        Path written = Files.writeString(tree.resolve("report.xml"), REPORT);
        // the clock of the file system may stand still between two files
        program(
                "bin/mvn",
                "cd '" + reports + "' && cp '" + written + "' TEST-new.xml"
                        + " && touch -d '+1 hour' TEST-new.xml; exit 3");
        LaunchResult result = launch(1000, "test");
        assertEquals(3, result.exitCode(), result::toString);
        assertEquals(
                List.of(
                        "module ran failed skipped",
                        "all 3 1 1",
                        "demo 3 1 1",
                        " 1 skipped: no device",
                        "Not run: exhaustive tests. ./granary test --all runs them."),
                result.out()
                        .lines()
                        .filter(line -> !line.isEmpty())
                        .map(line -> line.replaceAll(" +", " "))
                        .toList());
    }

    @Test
    @DisplayName("all tests: the modules after one that fails run too, and the exit code is 1")
    void failedModule() throws Exception {
        for (boolean hasFailed : new boolean[] {false, true}) {
            String last = hasFailed ? "Build failures were ignored." : "Finished";
            program("bin/mvn", "echo \"$*\"; echo '[INFO] " + last + "'");
            LaunchResult ended = launch(1000, "test", "--all");
            assertEquals(hasFailed ? 1 : 0, ended.exitCode(), ended::toString);
            assertTrue(ended.out().contains(" verify --fail-never "), ended::toString);
        }
    }
}
