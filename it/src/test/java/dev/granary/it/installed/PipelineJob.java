package dev.granary.it.installed;

import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * The job of a pipeline file that populates a bucket.
 *
 * @param commands its shell commands, in order
 * @param variables the environment variables that the file declares
 */
record PipelineJob(List<String> commands, Map<String, String> variables) {
    /** Reads a workflow of GitHub Actions. */
    static PipelineJob ofGitHub(Path file) throws IOException {
        Map<?, ?> job = (Map<?, ?>) at(file, "jobs", "populate");
        List<String> commands = ((List<?>) value(job, "steps"))
                .stream()
                        .map(step -> ((Map<?, ?>) step).get("run"))
                        .filter(String.class::isInstance)
                        .map(String.class::cast)
                        .toList();
        return new PipelineJob(commands, texts(value(job, "env")));
    }

    /** Reads a pipeline of GitLab. */
    static PipelineJob ofGitLab(Path file) throws IOException {
        Map<?, ?> job = (Map<?, ?>) at(file, "populate-kernels");
        List<String> commands = ((List<?>) value(job, "script"))
                .stream().map(String.class::cast).toList();
        return new PipelineJob(commands, texts(value(job, "variables")));
    }

    private static Object at(Path file, String... path) throws IOException {
        Object value =
                new Yaml(new SafeConstructor(new LoaderOptions())).load(Files.readString(file));
        for (String name : path) {
            value = value((Map<?, ?>) value, name);
        }
        return value;
    }

    private static Object value(Map<?, ?> mapping, String name) {
        return Objects.requireNonNull(mapping.get(name), name);
    }

    private static Map<String, String> texts(Object mapping) {
        return ((Map<?, ?>) mapping)
                .entrySet().stream()
                        .collect(Collectors.toMap(
                                entry -> String.valueOf(entry.getKey()),
                                entry -> String.valueOf(entry.getValue())));
    }
}
