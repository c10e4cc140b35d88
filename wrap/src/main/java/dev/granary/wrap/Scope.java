package dev.granary.wrap;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The machines that share the files of a tool: those with equal facts. Whether a file fits a
 * machine is decided by the key that the tool gives it; the scope excludes what no such key would
 * name, and keeps the number of fetched files small. Immutable.
 *
 * @param tool the tool
 * @param facts what the machines have in common, by name
 */
record Scope(Tool tool, SequencedMap<String, String> facts) {
    /** The namespace of files in every store, beside those of OpenCL and Level Zero. */
    static final Backend FILES = new Backend("files");

    private static final Pattern DISPLAY_OR_ACCELERATOR = Pattern.compile("0x(03|12).*");
    private static final Set<String> PROCESSOR_KEYS = Set.of(
            "vendor_id",
            "cpu family",
            "model",
            "model name",
            "stepping",
            "flags",
            "CPU implementer",
            "CPU architecture",
            "CPU variant",
            "CPU part",
            "Features");

    /**
     * Determines the facts of this machine; those that are not found are {@code unknown}.
     *
     * @param directory the directory of the tool
     * @param root the root of the file system
     * @param text the text that the user adds to the scope; may be empty
     */
    static Scope of(
            Tool tool, Path directory, Path root, Map<String, String> environment, String text) {
        Machine machine = new Machine(root, environment);
        SequencedMap<String, String> facts = new LinkedHashMap<>();
        facts.put("system", System.getProperty("os.name") + " " + System.getProperty("os.arch"));
        if (tool.hardware().contains("processor")) {
            facts.put("processor", machine.processor());
        }
        if (tool.hardware().contains("gpu")) {
            facts.put("gpu", machine.gpus());
            facts.put("kernel driver", machine.kernelDrivers());
        }
        if (!tool.libraries().isEmpty()) {
            facts.put("libraries", machine.libraries(tool.libraries()));
        }
        if (!tool.packages().isEmpty()) {
            facts.put("packages", machine.packages(tool.packages()));
        }
        if (tool.isLocated()) {
            facts.put("directory", directory.toString());
        }
        if (!text.isBlank()) {
            facts.put("--scope", text);
        }
        return new Scope(tool, facts);
    }

    /** Returns the target of the entries of this scope: the tool, its hardware and the rest. */
    Target target() {
        return new Target(FILES, tool.name(), joined(true), joined(false));
    }

    private String joined(boolean isHardware) {
        String values = facts.entrySet().stream()
                .filter(fact -> isHardware == List.of("processor", "gpu").contains(fact.getKey()))
                .map(fact -> fact.getKey() + " " + fact.getValue())
                .collect(Collectors.joining("; "));
        return values.isEmpty() ? "any" : values;
    }

    /** Reader of the facts of a machine, from files of its kernel and its packages. */
    private record Machine(Path root, Map<String, String> environment) {
        /** Returns the models of the processors with a digest of what they are able to do. */
        String processor() {
            SortedSet<String> lines = new TreeSet<>();
            SortedSet<String> models = new TreeSet<>();
            for (String line : lines(root.resolve("proc/cpuinfo"))) {
                String[] parts = line.split("\\s*:\\s*", 2);
                if (parts.length == 2 && PROCESSOR_KEYS.contains(parts[0])) {
                    lines.add(line.strip());
                    if (parts[0].equals("model name") || parts[0].equals("CPU part")) {
                        models.add(parts[1].strip());
                    }
                }
            }
            return lines.isEmpty()
                    ? Target.UNKNOWN
                    : String.join(", ", models) + ", features "
                            + Sha256.of(String.join("\n", lines).getBytes(UTF_8))
                                    .hex()
                                    .substring(0, 12);
        }

        /** Returns the PCI ids of all GPUs and accelerators, each once. */
        String gpus() {
            SortedSet<String> ids = new TreeSet<>();
            for (Path device : files(root.resolve("sys/bus/pci/devices"))) {
                if (DISPLAY_OR_ACCELERATOR
                        .matcher(first(device.resolve("class")))
                        .matches()) {
                    ids.add(first(device.resolve("vendor")) + ":"
                            + first(device.resolve("device")));
                }
            }
            return ids.isEmpty() ? "none" : String.join(", ", ids);
        }

        /** Returns the versions of the kernel's GPU drivers. */
        String kernelDrivers() {
            List<String> versions = new ArrayList<>();
            for (String module : List.of("nvidia", "amdgpu", "i915", "xe")) {
                String version = first(root.resolve("sys/module/" + module + "/version"));
                if (!version.isEmpty()) {
                    versions.add(module + " " + version);
                }
            }
            return versions.isEmpty() ? "none" : String.join(", ", versions);
        }

        /** Returns the names, with versions, and the lengths of shared libraries. */
        String libraries(List<String> names) {
            Set<Path> places = new LinkedHashSet<>();
            for (String path : environment.getOrDefault("LD_LIBRARY_PATH", "").split(":")) {
                if (path.startsWith("/")) {
                    places.add(Path.of(path));
                }
            }
            for (String usual : List.of("usr/lib", "usr/lib64", "usr/local/lib", "opt/rocm/lib")) {
                places.add(root.resolve(usual));
                files(root.resolve(usual)).stream()
                        .filter(file -> file.toString().contains("linux-gnu"))
                        .forEach(multiarch -> {
                            places.add(multiarch);
                            places.add(multiarch.resolve("intel-opencl"));
                        });
            }
            Pattern wanted = names.stream()
                    .map(name -> Stream.of(name.split("\\*", -1))
                            .map(Pattern::quote)
                            .collect(Collectors.joining(".*")))
                    .collect(Collectors.collectingAndThen(
                            Collectors.joining("|"), Pattern::compile));
            SortedSet<String> found = new TreeSet<>();
            for (Path place : places) {
                for (Path file : files(place)) {
                    if (wanted.matcher(file.getFileName().toString()).matches()) {
                        describe(file, found);
                    }
                }
            }
            return found.isEmpty() ? Target.UNKNOWN : String.join(", ", found);
        }

        private static void describe(Path library, Set<String> found) {
            try {
                Path real = library.toRealPath();
                if (Files.isRegularFile(real)) {
                    found.add(real.getFileName() + " of " + Files.size(real) + " bytes");
                }
            } catch (IOException e) {
                // a link to nothing is no library
            }
        }

        /** Returns the Python packages of the environment or of the machine, with versions. */
        String packages(List<String> names) {
            List<Path> prefixes = new ArrayList<>();
            for (String variable : List.of("VIRTUAL_ENV", "CONDA_PREFIX")) {
                String prefix = environment.getOrDefault(variable, "");
                if (prefix.startsWith("/")) {
                    prefixes.add(Path.of(prefix));
                }
            }
            prefixes.add(root.resolve("usr"));
            prefixes.add(root.resolve("usr/local"));
            Pattern wanted = Pattern.compile(
                    names.stream()
                            .map(name -> Pattern.quote(name).replace("_", "\\E[-_.]\\Q"))
                            .collect(Collectors.joining(
                                    "|", "(", ")-([^-]+)(-py[0-9.]+)?\\.(dist|egg)-info")),
                    Pattern.CASE_INSENSITIVE);
            for (Path prefix : prefixes) {
                SortedSet<String> found = new TreeSet<>();
                for (Path python : files(prefix.resolve("lib"))) {
                    if (!python.getFileName().toString().startsWith("python")) {
                        continue;
                    }
                    for (String packages : List.of("site-packages", "dist-packages")) {
                        for (Path file : files(python.resolve(packages))) {
                            var matcher = wanted.matcher(file.getFileName().toString());
                            if (matcher.matches()) {
                                found.add(matcher.group(1) + " " + matcher.group(2));
                            }
                        }
                    }
                }
                if (!found.isEmpty()) {
                    return String.join(", ", found); // those of the environment hide the others
                }
            }
            return Target.UNKNOWN;
        }

        private static List<Path> files(Path directory) {
            List<Path> files = new ArrayList<>();
            try (DirectoryStream<Path> all = Files.newDirectoryStream(directory)) {
                all.forEach(files::add);
            } catch (IOException | DirectoryIteratorException e) {
                return List.of(); // another system, or no right to read
            }
            return files;
        }

        private static String first(Path file) {
            List<String> lines = lines(file);
            return lines.isEmpty() ? "" : lines.getFirst().strip();
        }

        private static List<String> lines(Path file) {
            try {
                return Files.readAllLines(file);
            } catch (IOException e) {
                return List.of();
            }
        }
    }
}
