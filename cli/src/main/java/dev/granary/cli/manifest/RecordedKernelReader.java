package dev.granary.cli.manifest;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.Launch;

import org.tomlj.TomlTable;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Reader of a {@code [[recorded]]} table, as recordings have it. It says what code says: texts are
 * not searched for included files, and include directories are those of the compiler's tree.
 *
 * @param table the table
 */
record RecordedKernelReader(ManifestTable table) {
    private static final Set<String> KEYS = Set.of(
            "name",
            "entry",
            "source",
            "header",
            "include-directory",
            "every-file-listed",
            "options",
            "launch",
            "tag",
            "extra-digest",
            "target");
    private static final Set<String> HEADER_KEYS = Set.of("path", "file");
    private static final Set<String> LAUNCH_KEYS = Set.of("kernel", "global", "local");
    private static final Set<String> TARGET_KEYS =
            Set.of("id", "backend", "vendor", "device", "driver", "environment");
    private static final Pattern ID = Pattern.compile("[0-9a-f]{64}");

    KernelSpec read() throws KernelManifestException {
        table.checkKeys(KEYS, "a recorded kernel");
        String name = required(table, "name");
        List<Path> sources = new ArrayList<>();
        for (String source : table.texts("source")) {
            sources.add(table.path("source", source));
        }
        if (sources.isEmpty()) {
            throw table.error(
                    table.position("name"),
                    "recorded kernel '" + TomlFile.harmless(name)
                            + "' has no source; add: source = [\"path/to/file.cl\"]");
        }
        return new KernelSpec(
                name,
                sources,
                List.of(),
                options(),
                table.texts("entry"),
                launches(),
                table.textOrEmpty("tag"),
                table.textOrEmpty("extra-digest"),
                Optional.of(inputs()));
    }

    private List<String> options() throws KernelManifestException {
        try {
            return BuildOptions.parse(table.textOrEmpty("options"));
        } catch (IllegalArgumentException e) {
            throw table.error("options", TomlFile.harmless(String.valueOf(e.getMessage())));
        }
    }

    private List<Launch> launches() throws KernelManifestException {
        List<Launch> launches = new ArrayList<>();
        for (ManifestTable launch :
                table.tables("launch", "[{ kernel = \"...\", global = [1024], local = [64] }]")) {
            launch.checkKeys(LAUNCH_KEYS, "a launch");
            String kernel = required(launch, "kernel");
            try {
                launches.add(new Launch(
                        kernel, new Geometry(launch.numbers("global"), launch.numbers("local"))));
            } catch (IllegalArgumentException e) {
                throw launch.error("kernel", "launch: " + e.getMessage());
            }
        }
        return launches;
    }

    private RecordedInputs inputs() throws KernelManifestException {
        SequencedMap<String, Path> headers = new LinkedHashMap<>();
        for (ManifestTable header :
                table.tables("header", "[{ path = \"a.h\", file = \"include/a.h\" }]")) {
            header.checkKeys(HEADER_KEYS, "a header");
            String place = relative(header, "path", header.textOrEmpty("path"));
            if (headers.put(place, header.path("file", required(header, "file"))) != null) {
                throw header.error(
                        "path", "the header '" + TomlFile.harmless(place) + "' is listed twice");
            }
        }
        for (String directory : table.texts("include-directory")) {
            relative(table, "include-directory", directory);
        }
        Object everyFile = table.value("every-file-listed");
        if (everyFile != null && !(everyFile instanceof Boolean)) {
            throw table.error("every-file-listed", "every-file-listed must be true or false");
        }
        List<RecordedId> ids = new ArrayList<>();
        for (ManifestTable target : table.tables("target", "[{ id = \"...\", backend = ... }]")) {
            ids.add(id(target));
        }
        return new RecordedInputs(
                headers, table.texts("include-directory"), Boolean.TRUE.equals(everyFile), ids);
    }

    private static RecordedId id(ManifestTable target) throws KernelManifestException {
        target.checkKeys(TARGET_KEYS, "a target");
        String hash = required(target, "id");
        if (!ID.matcher(hash).matches()) {
            throw target.error(
                    "id", "the id '" + TomlFile.harmless(hash) + "' has not 64 hexadecimal digits");
        }
        String backend = required(target, "backend");
        Backend known = Backend.ofPath(backend)
                .orElseThrow(() -> target.error(
                        "backend", "there is no backend '" + TomlFile.harmless(backend) + "'"));
        return new RecordedId(
                hash,
                new Target(
                        known,
                        required(target, "vendor"),
                        required(target, "device"),
                        required(target, "driver")),
                environment(target));
    }

    private static NavigableMap<String, String> environment(ManifestTable target)
            throws KernelManifestException {
        NavigableMap<String, String> environment = new TreeMap<>();
        Object value = target.value("environment");
        if (value instanceof TomlTable variables) {
            ManifestTable texts = new ManifestTable(target.file(), variables);
            for (String name : variables.keySet()) {
                environment.put(name, texts.textOrEmpty(name));
            }
        } else if (value != null) {
            throw target.error(
                    "environment", "environment must be a table such as { NAME = \"...\" }");
        }
        return environment;
    }

    /** Returns a text that may not be blank. */
    private static String required(ManifestTable table, String key) throws KernelManifestException {
        String value = table.text(key);
        if (value == null || value.isBlank()) {
            throw table.error(
                    table.keys().isEmpty() ? null : table.position(table.keys().getFirst()),
                    "there is no " + key + "; add: " + key + " = \"...\"");
        }
        return value;
    }

    /** Returns a path of the compiler's tree, which is relative to the source. */
    private static String relative(ManifestTable table, String key, String path)
            throws KernelManifestException {
        if (path.isEmpty() || path.startsWith("/") || path.indexOf('\0') >= 0) {
            throw table.error(
                    key,
                    key + " must be relative to the source, not '" + TomlFile.harmless(path) + "'");
        }
        return path;
    }
}
