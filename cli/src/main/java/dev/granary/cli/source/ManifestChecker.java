package dev.granary.cli.source;

import dev.granary.cache.Id;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelManifestException;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.manifest.RecordedInputs;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;

import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlPosition;
import org.tomlj.TomlTable;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checker of a kernel manifest without a device: all files can be read, each kernel has an id, and
 * the ids of a recording are those of its files.
 */
public final class ManifestChecker {
    private final Path file;
    private final List<Problem> problems = new ArrayList<>();
    private int kernels;
    private int ids;

    /**
     * A problem of one kernel.
     *
     * @param kernel the kernel's name
     * @param line the line of its table, counted from 1; 0 if its name is not in the file itself
     * @param message the problem, without a full stop
     */
    public record Problem(String kernel, int line, String message) {}

    private ManifestChecker(Path file) {
        this.file = file;
    }

    /**
     * Checks all kernels of a manifest.
     *
     * @throws KernelManifestException if the file cannot be read or is not a manifest
     */
    public static ManifestChecker check(Path file) throws KernelManifestException {
        ManifestChecker checker = new ManifestChecker(file);
        KernelManifest manifest = KernelManifest.read(file);
        Map<String, Integer> lines = checker.lines();
        for (KernelSpec kernel : manifest.kernels()) {
            checker.kernels++;
            checker.check(kernel, lines.getOrDefault(kernel.name(), 0));
        }
        return checker;
    }

    private void check(KernelSpec kernel, int line) {
        try {
            List<RecordedId> recorded =
                    kernel.recorded().map(RecordedInputs::ids).orElse(List.of());
            for (RecordedId id : recorded) {
                ids++;
                Id computed = KernelSourceResolver.descriptor(
                                kernel, kernel.recorded().orElseThrow(), id)
                        .getId();
                if (!computed.isEmpty() && !computed.hash().hex().equals(id.hash())) {
                    problems.add(new Problem(
                            kernel.name(),
                            line,
                            "its id for " + id.target().name() + " is " + computed + ", but "
                                    + id.hash() + " was recorded: a file or a key was changed;"
                                    + " record it again, or remove this target"));
                }
            }
            Id id = KernelSourceResolver.withoutDevice(kernel).getId();
            if (id.isEmpty()) {
                problems.add(
                        new Problem(kernel.name(), line, "it is not cacheable: " + id.reason()));
            }
        } catch (IOException | RuntimeException e) { // such as an id that would be too long
            problems.add(new Problem(kernel.name(), line, String.valueOf(e.getMessage())));
        }
    }

    /** Returns the line of each table by the name in it. */
    private Map<String, Integer> lines() {
        Map<String, Integer> lines = new HashMap<>();
        TomlParseResult toml;
        try {
            toml = TomlFile.read(file);
        } catch (IOException | TomlException e) {
            return lines; // changed since it was read: problems have no lines
        }
        for (String key : List.of("kernel", "recorded")) {
            if (toml.get(key) instanceof TomlArray tables) {
                for (int i = 0; i < tables.size(); i++) {
                    TomlPosition position = tables.inputPositionOf(i);
                    if (tables.get(i) instanceof TomlTable table
                            && table.get("name") instanceof String name
                            && position != null) {
                        lines.put(name, position.line());
                    }
                }
            }
        }
        return lines;
    }

    /** Returns the number of kernels. */
    public int kernels() {
        return kernels;
    }

    /** Returns the number of recorded ids. */
    public int ids() {
        return ids;
    }

    /** Returns the problems in the order of the manifest. */
    public List<Problem> problems() {
        return List.copyOf(problems);
    }
}
