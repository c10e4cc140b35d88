package dev.granary.coordinator.recording;

import dev.granary.cache.Target;
import dev.granary.coordinator.toml.TomlText;
import dev.granary.gpu.KernelDescriptor;

import java.util.Collections;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The id of a recorded kernel for one target.
 *
 * @param environment the variables that were part of the id, by name
 */
public record RecordedId(String hash, Target target, NavigableMap<String, String> environment) {
    public RecordedId {
        environment = Collections.unmodifiableNavigableMap(new TreeMap<>(environment));
    }

    /** Returns the id of {@code descriptor} with its target. */
    public static RecordedId of(KernelDescriptor descriptor) {
        return new RecordedId(
                descriptor.getId().hash().hex(),
                descriptor.target(),
                descriptor.compilerVariables());
    }

    String toToml() {
        String variables = environment.entrySet().stream()
                .map(variable -> TomlText.string(variable.getKey()) + " = "
                        + TomlText.string(variable.getValue()))
                .collect(Collectors.joining(", "));
        return "{ id = " + TomlText.string(hash)
                + ", backend = " + TomlText.string(target.backend().path())
                + ", vendor = " + TomlText.string(target.vendor())
                + ", device = " + TomlText.string(target.device())
                + ", driver = " + TomlText.string(target.driver())
                + (variables.isEmpty() ? "" : ", environment = { " + variables + " }")
                + " }";
    }
}
