package dev.granary.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.testing.Await;
import dev.granary.testing.SystemTool;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A shared directory whose file server is stopped, so that each access to it hangs. */
@ExtendWith(WithDevice.class)
@Tag("exhaustive") // each command waits 10 s
class HangingDirectoryTest {
    @TempDir
    private Path directory = Path.of("");

    /** A FUSE file system on {@code directory}/mounted, and its server. */
    private record Mount(Path path, Process server) implements AutoCloseable {
        static Mount start(Path directory) throws Exception {
            assumeTrue(SystemTool.run("bindfs", "--version"), "no bindfs: apt-get install bindfs");
            Path path = Files.createDirectories(directory.resolve("mounted"));
            Process server = new ProcessBuilder(
                            "bindfs",
                            "-f",
                            Files.createDirectories(directory.resolve("served")).toString(),
                            path.toString())
                    .inheritIO()
                    .start();
            Mount mount = new Mount(path, server);
            Await.holds(
                    () -> !server.isAlive() || SystemTool.run("mountpoint", "-q", path.toString()));
            assumeTrue(server.isAlive(), "this user may not mount a FUSE file system");
            return mount;
        }

        void stop() throws InterruptedException {
            assertTrue(SystemTool.run("kill", "-STOP", String.valueOf(server.pid())));
        }

        @Override
        public void close() {
            server.destroyForcibly().onExit().join(); // which ends what waits for it
            try {
                SystemTool.run("umount", "-l", path.toString());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private GranaryProcess.Result run(String local, String... arguments) throws Exception {
        return GranaryProcess.run(
                Map.of("GRANARY_DIR", directory.resolve(local).toString()), arguments);
    }

    @Test
    @DisplayName("A program goes on without it, and each command that needs it says within seconds"
            + " that it gives no answer")
    void noAnswer() throws Exception {
        try (Mount mount = Mount.start(directory)) {
            String shared = "file://" + mount.path().resolve("kernels");
            String manifest = TestManifests.manifest();
            GranaryProcess.Result ci = run("ci", "populate", "--bucket", shared, manifest);
            assertEquals(0, ci.exitCode(), ci::toString);
            mount.stop();

            GranaryProcess.Result node = run("node", "get", "--bucket", shared, manifest);
            assertEquals(0, node.exitCode(), node::toString);
            assertTrue(node.out().contains("2 compiled"), node::toString);
            for (List<String> command : List.of(
                    List.of("doctor", "--bucket", shared),
                    List.of("populate", "--bucket", shared, manifest),
                    List.of("warm", "--bucket", shared),
                    List.of("ls", shared),
                    List.of("copy", shared, directory.resolve("copy").toString()))) {
                GranaryProcess.Result ended = run("node", command.toArray(String[]::new));
                assertEquals(1, ended.exitCode(), ended::toString);
                assertTrue(
                        (ended.out() + ended.err()).contains("gave no answer for 10 s"),
                        ended::toString);
            }
        }
    }

    @Test
    @DisplayName("It stops while a wrapped program runs: the program gets its fetched file, and its"
            + " exit code is that of the command after the wait")
    void wrapped() throws Exception {
        try (Mount mount = Mount.start(directory)) {
            GranaryProcess.Result ci = wrap("ci", mount, "printf one >$D/one");
            assertEquals(0, ci.exitCode(), ci::toString);
            GranaryProcess.Result node = wrap(
                    "node",
                    mount,
                    "cat $D/one; kill -STOP " + mount.server().pid()
                            + "; printf 2 >$D/two; exit 3");
            assertEquals(3, node.exitCode(), node::toString);
            assertTrue(node.out().contains("one"), node::toString);
            assertTrue(Files.exists(directory.resolve("tool of node/two")));
        }
    }

    private GranaryProcess.Result wrap(String machine, Mount mount, String program)
            throws Exception {
        Path tool = Files.createDirectories(directory.resolve("tool of " + machine));
        return GranaryProcess.run(
                Map.of("GRANARY_DIR", directory.resolve(machine).toString(), "D", tool.toString()),
                "wrap",
                "--dir",
                "tool=" + tool,
                "--wait",
                "3",
                "--bucket",
                "file://" + mount.path().resolve("kernels"),
                "--",
                "sh",
                "-c",
                program.replace("$D", "\"$D\""));
    }
}
