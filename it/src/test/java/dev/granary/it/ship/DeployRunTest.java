package dev.granary.it.ship;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonParser;

import dev.granary.gpu.opencl.OpenCl;
import dev.granary.s3.embedded.EmbeddedS3;
import dev.granary.testing.Await;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.VolumeMount;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Runs the containers of {@code deploy} as processes, with their commands and variables, in the
 * order of a cluster. Volumes are directories, and credentials take the place of web identities.
 */
class DeployRunTest {
    @TempDir
    private Path directory = Path.of("");

    private final Map<String, String> cluster = new HashMap<>();

    @BeforeEach
    void requireDevice() {
        Assumptions.assumeFalse(
                OpenCl.devices().isEmpty(), "no OpenCL device: apt-get install pocl-opencl-icd");
    }

    private static Container container(String object, String name) throws IOException {
        for (HasMetadata each : DeployFiles.objects()) {
            if (each.getMetadata().getName().equals(object)) {
                Optional<Container> found = DeployFiles.pod(each).stream()
                        .flatMap(DeployFiles::containers)
                        .filter(container -> container.getName().equals(name))
                        .findFirst();
                if (found.isPresent()) {
                    return found.get();
                }
            }
        }
        throw new IllegalArgumentException(object + " has no container " + name);
    }

    /** Replaces the paths of a container's volumes by directories of the test. */
    private String mounted(Container container, String text) {
        Map<String, String> volumes = container.getVolumeMounts().stream()
                .collect(Collectors.toMap(VolumeMount::getMountPath, VolumeMount::getName));
        String path = "(?<![\\w/])(" + String.join("|", volumes.keySet()) + ")(?=[/\"]|$)";
        return Pattern.compile(path).matcher(text).replaceAll(mount -> directory
                .resolve(Objects.requireNonNull(volumes.get(mount.group())))
                .toString());
    }

    private List<String> command(Container container) throws IOException {
        for (VolumeMount mount : container.getVolumeMounts()) {
            Files.createDirectories(directory.resolve(mount.getName()));
        }
        return container.getCommand().stream()
                .map(word -> mounted(container, word))
                .toList();
    }

    private Map<String, String> variables(Container container) throws IOException {
        Map<String, String> variables = new HashMap<>(DeployFiles.data("granary"));
        for (EnvVar variable : container.getEnv()) {
            var source = variable.getValueFrom();
            variables.put(
                    variable.getName(),
                    source.getConfigMapKeyRef() == null
                            ? Files.readString(directory.resolve(
                                    "secret/" + source.getSecretKeyRef().getKey()))
                            : Objects.requireNonNull(DeployFiles.data("granary")
                                    .get(source.getConfigMapKeyRef().getKey())));
        }
        variables.replaceAll((_, value) -> mounted(container, value));
        variables.putAll(cluster);
        return variables;
    }

    /** Mounts the sample of a manifest as a ConfigMap is: each file is a link to a link. */
    private void mountKernels() throws IOException {
        Path data = Files.createDirectories(directory.resolve("kernels/..1"));
        Files.createSymbolicLink(data.resolveSibling("..data"), Path.of("..1"));
        for (Map.Entry<String, String> file :
                DeployFiles.data("granary-kernels").entrySet()) {
            Files.writeString(data.resolve(file.getKey()), file.getValue());
            Files.createSymbolicLink(
                    data.resolveSibling(file.getKey()), Path.of("..data", file.getKey()));
        }
    }

    private static void assertDone(CommandShell.Result result) {
        assertEquals(0, result.exitCode(), result::toString);
    }

    /** Runs the DaemonSet's container until it sleeps, and returns for how long it would. */
    private String warm(CommandShell shell) throws Exception {
        Path sleeping = directory.resolve("sleeping");
        Files.deleteIfExists(sleeping);
        shell.script("sleep", "echo \"$1\" >'" + sleeping + "'; exec /bin/sleep \"$1\"");
        Container warm = container("granary-warm", "warm");
        Process process = shell.start(variables(warm), command(warm));
        try {
            Await.holds(
                    () -> Files.exists(sleeping) && Files.readString(sleeping).endsWith("\n"));
            ProcessHandle sleep = process.children().findFirst().orElseThrow();
            process.toHandle().destroy(); // SIGTERM
            assertEquals(0, process.waitFor());
            sleep.destroy(); // in a container it ends with the shell
            return Files.readString(sleeping).strip();
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    @Tag("exhaustive") // takes minutes
    @DisplayName("a node waits until the job has populated the bucket, then is warm and ready; the"
            + " program compiles nothing, with the bucket or with the seed alone; compact and"
            + " collect succeed")
    void inOrder() throws Exception {
        CommandShell shell = new CommandShell(directory.resolve("shell"));
        Path secret = directory.resolve("secret");
        assertDone(shell.run(
                Map.of(),
                List.of("granary", "keys", "--create", "ci-2026", "--out", secret.toString())));
        try (EmbeddedS3 server = EmbeddedS3.start(null)) {
            server.createBucket("kernels");
            cluster.putAll(Map.of(
                    "GRANARY_TRUSTED_KEYS", Files.readString(secret.resolve("ci-2026.pub")),
                    "GRANARY_S3_ENDPOINT", server.endpoint().toString(),
                    "AWS_ACCESS_KEY_ID", server.accessKey(),
                    "AWS_SECRET_ACCESS_KEY", server.secretKey()));

            makeDirectory(shell);
            Path ready = directory.resolve("tmp/warm");
            assertEquals("60", warm(shell), "before the bucket has entries");
            assertFalse(Files.exists(ready));

            mountKernels();
            Container populate = container("granary-populate", "populate");
            CommandShell.Result populated = shell.run(variables(populate), command(populate));
            assertDone(populated);
            assertTrue(populated.out().contains(": 1 published, "), populated::toString);
            assertTrue(populated.out().contains("pinned as release"), populated::toString);

            assertEquals("3600", warm(shell));
            assertTrue(Files.exists(ready));
            Container beforeProgram = container("program", "warm");
            assertDone(shell.run(variables(beforeProgram), command(beforeProgram)));
            Map<String, String> program = variables(container("program", "program"));
            assertEquals(1, kernels(shell, program, "local"));

            Path seed = directory.resolve("seed");
            assertDone(shell.run(
                    program,
                    List.of(
                            "granary",
                            "copy",
                            "s3://kernels/team?trust=require:ci-2026",
                            seed.toUri().toString())));
            assertTrue(
                    PosixFilePermissions.toString(Files.getPosixFilePermissions(seed))
                            .endsWith("r-x"),
                    "another user reads the seed");
            Map<String, String> seeded = new HashMap<>(program);
            seeded.put("GRANARY_DIR", directory.resolve("empty").toString());
            seeded.put("GRANARY_S3_ENDPOINT", "http://127.0.0.1:1");
            seeded.put("GRANARY_BUCKET", seededBucket());
            assertEquals(1, kernels(shell, seeded, "bucket"));

            for (String job : List.of("compact", "collect")) {
                Container maintain = container("granary-" + job, job);
                assertDone(shell.run(variables(maintain), command(maintain)));
            }
            assertEquals(1, kernels(shell, program, "local"));
        }
    }

    /** Makes the directory of the node, private to this user in place of user 1000. */
    private void makeDirectory(CommandShell shell) throws Exception {
        Container container = container("granary-warm", "directory");
        Path own = directory.resolve("node/1000");
        Object user = Files.getAttribute(directory, "unix:uid");
        Object group = Files.getAttribute(directory, "unix:gid");
        List<String> command = command(container).stream()
                .map(word -> word.replace("-o 1000 -g 1000", "-o " + user + " -g " + group))
                .toList();
        for (int start = 0; start < 2; start++) {
            assertDone(shell.run(variables(container), command));
            assertEquals(
                    "rwx------",
                    PosixFilePermissions.toString(
                            Files.getPosixFilePermissions(own, LinkOption.NOFOLLOW_LINKS)));
            assertEquals(user, Files.getAttribute(own, "unix:uid"));
        }
    }

    private String seededBucket() throws IOException {
        Container patch = DeployFiles.containers(
                        DeployFiles.pod(KubernetesYaml.objects(Files.readString(DeployFiles.seed()))
                                        .getFirst())
                                .orElseThrow())
                .findFirst()
                .orElseThrow();
        return patch.getEnv()
                .getFirst()
                .getValue()
                .replace(
                        "file:///seed",
                        directory.resolve("seed").toUri().toString().replaceAll("/$", ""));
    }

    /** Returns the number of kernels of the manifest that came from there. */
    private int kernels(CommandShell shell, Map<String, String> variables, String from)
            throws Exception {
        CommandShell.Result result = shell.run(
                variables,
                List.of(
                        "granary",
                        "get",
                        "--json",
                        directory.resolve("kernels/kernels.toml").toString()));
        assertDone(result);
        return JsonParser.parseString(result.out())
                .getAsJsonObject()
                .getAsJsonObject("summary")
                .get(from)
                .getAsInt();
    }
}
