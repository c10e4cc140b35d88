package dev.granary.it.ship;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonParser;

import dev.granary.coordinator.config.KeyTexts;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.s3.embedded.EmbeddedS3;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs the scripts in {@code action} as the runners of GitHub and GitLab do. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ActionTest {
    private static final Path ACTION = Path.of("..", "action");

    private static final Path KERNELS = Path.of("..", "examples", "ci").toAbsolutePath();

    private static final Pattern INPUT = Pattern.compile("\\$\\{\\{ inputs\\.([a-z-]+) }}");

    /** The head of the table of {@code stats --format github}. */
    private static final String TABLE = "| entries | size | compile time | nodes | last use |";

    private final CommandShell shell;
    private final Path summary;
    private final EmbeddedS3 server;
    private final Map<String, String> secrets;
    private final String signingKey;

    ActionTest(@TempDir Path directory) throws Exception {
        Assumptions.assumeFalse(
                OpenCl.devices().isEmpty(), "no OpenCL device: apt-get install pocl-opencl-icd");
        shell = new CommandShell(directory);
        summary = directory.resolve("summary.md");
        server = EmbeddedS3.start(null);
        server.createBucket("kernels");
        KeyTexts.Pair keys = KeyTexts.create("ci-2026");
        signingKey = keys.privateKey();
        secrets = Map.of(
                "GRANARY_DIR", directory.resolve("runner").toString(),
                "GRANARY_TRUSTED_KEYS", keys.publicKey(),
                "AWS_ACCESS_KEY_ID", server.accessKey(),
                "AWS_SECRET_ACCESS_KEY", server.secretKey());
    }

    @AfterAll
    void stop() {
        server.close();
    }

    /** Returns the bucket of a test. */
    private static String bucket(String test) {
        return "s3://kernels/" + test + "?trust=require:ci-2026";
    }

    private static Map<String, Object> yaml(String name) throws IOException {
        return KubernetesYaml.documents(Files.readString(ACTION.resolve(name))).getFirst();
    }

    private static Map<String, Object> mapping(Map<String, Object> parent, String name) {
        return KubernetesYaml.mapping(Objects.requireNonNull(parent.get(name), name));
    }

    private Map<String, String> inputs(String bucket) {
        return new HashMap<>(Map.of(
                "bucket",
                bucket,
                "manifest",
                KERNELS.resolve("kernels.toml").toString(),
                "endpoint",
                server.endpoint().toString(),
                "region",
                "eu-west-1",
                "signing-key",
                signingKey,
                "command",
                "granary"));
    }

    /** Runs the script of the action, with these inputs and the defaults. */
    private CommandShell.Result gitHub(Map<String, String> given, Map<String, String> job)
            throws Exception {
        Map<String, Object> action = yaml("action.yml");
        assertEquals(Set.of("name", "description", "inputs", "runs"), action.keySet());
        Map<String, String> inputs = new HashMap<>();
        mapping(action, "inputs").forEach((name, declared) -> {
            Map<String, Object> input = KubernetesYaml.mapping(declared);
            assertTrue(Set.of("description", "required", "default").containsAll(input.keySet()));
            String value = given.getOrDefault(name, (String) input.getOrDefault("default", ""));
            assertTrue(given.containsKey(name) || !input.containsKey("required"), name);
            inputs.put(name, value);
        });
        assertTrue(inputs.keySet().containsAll(given.keySet()), "unknown input");
        Map<String, Object> runs = mapping(action, "runs");
        assertEquals(Set.of("using", "steps"), runs.keySet());
        assertEquals("composite", runs.get("using"));
        List<?> steps = (List<?>) Objects.requireNonNull(runs.get("steps"));
        assertEquals(2, steps.size());
        Map<String, Object> java = KubernetesYaml.mapping(steps.getFirst());
        assertEquals(Set.of("if", "uses", "with"), java.keySet());
        assertEquals("inputs.java-version != ''", java.get("if"));
        Map<String, Object> step = KubernetesYaml.mapping(steps.getLast());
        assertEquals(Set.of("name", "shell", "env", "run"), step.keySet());
        assertEquals("bash", step.get("shell"));
        String script = (String) Objects.requireNonNull(step.get("run"));
        assertFalse(script.contains("${{"), "an input would be a part of the script");
        Map<String, String> variables = new HashMap<>(secrets);
        variables.putAll(job);
        mapping(step, "env").forEach((name, expression) -> {
            Matcher input = INPUT.matcher((String) expression);
            assertTrue(input.matches(), name);
            variables.put(name, Objects.requireNonNull(inputs.get(input.group(1)), name));
        });
        variables.put("GITHUB_ACTION_PATH", ACTION.toAbsolutePath().toString());
        variables.put("GITHUB_STEP_SUMMARY", summary.toString());
        variables.put("RUNNER_TEMP", shell.directory().toString());
        Files.deleteIfExists(summary);
        Path file = Files.writeString(shell.directory().resolve("step.sh"), script);
        return shell.run(
                variables,
                List.of("bash", "--noprofile", "--norc", "-eo", "pipefail", file.toString()));
    }

    /** Runs the script of GitLab's job, with these variables of the job that extends it. */
    private CommandShell.Result gitLab(String bucket, Map<String, String> given) throws Exception {
        Map<String, Object> hidden = mapping(yaml("gitlab.yml"), ".granary-populate");
        assertEquals(
                Set.of("timeout", "variables", "script", "artifacts", "rules"), hidden.keySet());
        Map<String, String> variables = new HashMap<>(secrets);
        mapping(hidden, "variables").forEach((name, value) -> variables.put(name, (String) value));
        variables.putAll(Map.of(
                "GRANARY_SIGNING_KEY",
                signingKey,
                "GRANARY_BUCKET",
                bucket,
                "GRANARY_S3_ENDPOINT",
                server.endpoint().toString(),
                "AWS_REGION",
                "eu-west-1"));
        variables.putAll(given);
        List<String> lines = ((List<?>) Objects.requireNonNull(hidden.get("script")))
                .stream().map(String.class::cast).toList();
        assertFalse(lines.toString().contains("$[["), "an input would be a part of the script");
        return shell.run(
                variables, List.of("bash", "-c", "set -eo pipefail\n" + String.join("\n", lines)));
    }

    /** Asserts that a reader that requires the signature compiles nothing. */
    private void assertPopulated(String bucket) throws Exception {
        Map<String, String> reader = new HashMap<>(secrets);
        reader.put("GRANARY_CAPACITY", "0");
        reader.put("GRANARY_BUCKET", bucket + "&access=read");
        reader.put("GRANARY_S3_ENDPOINT", server.endpoint().toString());
        reader.put("AWS_REGION", "eu-west-1");
        CommandShell.Result result = shell.run(
                reader,
                List.of(
                        "granary",
                        "get",
                        "--json",
                        KERNELS.resolve("kernels.toml").toString()));
        assertEquals(0, result.exitCode(), result::toString);
        assertEquals(
                1,
                JsonParser.parseString(result.out())
                        .getAsJsonObject()
                        .getAsJsonObject("summary")
                        .get("bucket")
                        .getAsInt(),
                result::toString);
    }

    /** Writes a manifest of a sound kernel and one that does not compile. */
    private String brokenManifest() throws IOException {
        Path broken = Files.createTempDirectory(shell.directory(), "broken-");
        Files.copy(KERNELS.resolve("kernels/saxpy.cl"), broken.resolve("saxpy.cl"));
        Files.writeString(broken.resolve("broken.cl"), "kernel void broken( { }");
        return Files.writeString(broken.resolve("kernels.toml"), """
                [[kernel]]
                name = "saxpy"
                source = "saxpy.cl"
                [[kernel]]
                name = "broken"
                source = "broken.cl"
                """).toString();
    }

    @Test
    @DisplayName("the action populates the bucket, signed, and the summary has the kernels and the"
            + " table")
    void action() throws Exception {
        String bucket = bucket("action");
        CommandShell.Result result = gitHub(inputs(bucket), Map.of());
        assertEquals(0, result.exitCode(), result::toString);
        assertTrue(result.out().contains("1 published"), result::toString);
        String text = Files.readString(summary);
        assertTrue(text.contains("\n    saxpy   compiled"), text);
        assertTrue(text.contains("\n" + TABLE), text);
        assertFalse(text.contains(signingKey.strip()), "no secret");
        assertPopulated(bucket);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a kernel that does not compile fails the action, and is in the summary; without"
            + " inputs, endpoint, region and key are those of the job")
    void failingAction() throws Exception {
        Map<String, String> inputs = inputs(bucket("failing-action"));
        inputs.put("manifest", brokenManifest());
        Map<String, String> job = Map.of(
                "GRANARY_S3_ENDPOINT", inputs.remove("endpoint"),
                "GRANARY_SIGNING_KEY", inputs.remove("signing-key"),
                "AWS_REGION", inputs.remove("region"));
        CommandShell.Result result = gitHub(inputs, job);
        assertEquals(1, result.exitCode(), result::toString);
        String text = Files.readString(summary);
        assertTrue(text.contains("\n    broken  failed-to-compile"), text);
        assertTrue(text.contains(TABLE), text);
    }

    @Test
    @DisplayName("inputs are data: none becomes a command, an option or a pattern, also in"
            + " GitLab's job")
    void hostileInputs() throws Exception {
        shell.script("arguments", "[ \"$1\" = stats ] || printf '%s\\n' \"$@\"");
        Path owned = shell.directory().resolve("owned");
        String attack = "\"; touch " + owned + "; $(touch " + owned + ") `touch " + owned + "` #";
        Map<String, String> inputs = inputs(attack);
        inputs.putAll(Map.of(
                "command",
                "arguments",
                "manifest",
                "--" + attack,
                "targets",
                "tgllp * " + attack,
                "endpoint",
                attack,
                "region",
                attack,
                "fresh",
                attack));
        List<String> expected = new ArrayList<>(List.of("populate"));
        for (String target : ("tgllp * " + attack).split(" ")) {
            expected.addAll(List.of("--target", target));
        }
        expected.addAll(List.of("--", "--" + attack));
        assertEquals(expected, gitHub(inputs, Map.of()).out().lines().toList());
        CommandShell.Result job = gitLab(
                attack,
                Map.of(
                        "KERNEL_COMMAND",
                        "arguments",
                        "KERNEL_MANIFEST",
                        "--" + attack,
                        "KERNEL_TARGETS",
                        "tgllp * " + attack,
                        "KERNEL_FRESH",
                        attack));
        expected.addAll(1, List.of("--junit", "populate.xml"));
        assertEquals(expected, job.out().lines().toList());
        assertFalse(Files.exists(owned));
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("GitLab's job populates the bucket, signed, and leaves the report and the table")
    void job() throws Exception {
        String bucket = bucket("job");
        CommandShell.Result result = gitLab(
                bucket,
                Map.of("KERNEL_MANIFEST", KERNELS.resolve("kernels.toml").toString()));
        assertEquals(0, result.exitCode(), result::toString);
        assertTrue(result.out().contains("1 published"), result::toString);
        assertArtifacts();
        assertPopulated(bucket);
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a kernel that does not compile fails GitLab's job, with the same artifacts")
    void failingJob() throws Exception {
        CommandShell.Result result =
                gitLab(bucket("failing-job"), Map.of("KERNEL_MANIFEST", brokenManifest()));
        assertEquals(1, result.exitCode(), result::toString);
        assertArtifacts();
    }

    private void assertArtifacts() throws IOException {
        Map<String, Object> artifacts =
                mapping(mapping(yaml("gitlab.yml"), ".granary-populate"), "artifacts");
        assertEquals("always", artifacts.get("when"));
        Object table = ((List<?>) Objects.requireNonNull(artifacts.get("paths"))).getFirst();
        Object junit = mapping(artifacts, "reports").get("junit");
        assertTrue(Files.readString(shell.directory().resolve((String) table)).contains(TABLE));
        assertTrue(
                Files.readString(shell.directory().resolve((String) junit)).contains("<testcase "));
    }
}
