package dev.granary.cli.manifest;

import dev.granary.cache.Backend;
import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelSpec.RecordedInputs;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.Launch;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** Reader of the tables of kernels: their inputs, beside names and sources of unrecorded ones. */
final class KernelInputs {
    private static final Set<String> RECORDED_KEYS = Set.of(("name entry source header"
                    + " include-directory every-file-listed options launch tag extra-digest "
                    + RecordedInputs.MARK)
            .split(" "));
    private static final Set<String> GEOMETRY_KEYS = Set.of("global", "local");
    private static final Set<String> LAUNCH_KEYS = Set.of("kernel", "global", "local");
    private static final Set<String> HEADER_KEYS = Set.of("path", "file");
    private static final Set<String> TARGET_KEYS =
            Set.of("id", "backend", "vendor", "device", "driver", "environment");
    private static final Pattern ID = Pattern.compile("[0-9a-f]{64}");

    private KernelInputs() {}

    /**
     * Returns a program.
     *
     * @param macros the options that define its macros
     * @param tables the defaults if there are some, and the table of the kernel: later lists extend
     *     earlier ones, other values replace them
     */
    static KernelSpec of(
            String name, List<Path> sources, List<String> macros, List<TomlTable> tables)
            throws TomlException {
        List<Path> directories = new ArrayList<>();
        List<String> options = new ArrayList<>();
        List<Launch> launches = List.of();
        String tag = "";
        String extraDigest = "";
        for (TomlTable table : tables) {
            List<Path> own = new ArrayList<>();
            for (String directory : table.texts("include")) {
                own.add(table.path("include", directory));
            }
            for (String option : options(table)) {
                if (option.startsWith("-I")) {
                    own.add(table.path("options", option.substring(2)));
                } else {
                    options.add(option);
                }
            }
            directories.addAll(0, own); // these are searched first
            if (table.has("geometry") || table.has("launch")) {
                launches = launches(table);
            }
            tag = Objects.requireNonNullElse(table.text("tag"), tag);
            extraDigest = Objects.requireNonNullElse(table.text("extra-digest"), extraDigest);
        }
        options.addAll(macros);
        return new KernelSpec(
                name,
                tables.getLast().place(),
                sources,
                directories,
                options,
                tables.getLast().texts("entry"),
                launches,
                tag,
                extraDigest,
                Optional.empty());
    }

    private static List<String> options(TomlTable table) throws TomlException {
        String options = table.textOrEmpty("options");
        return table.checked("options", () -> BuildOptions.parse(options));
    }

    private static List<Launch> launches(TomlTable table) throws TomlException {
        List<Launch> launches = new ArrayList<>();
        Optional<TomlTable> every = table.table("geometry", "{ global = [1024], local = [64] }");
        if (every.isPresent()) {
            every.get().checkKeys(GEOMETRY_KEYS, "a geometry");
            launches.add(launch("geometry", Launch.EVERY_KERNEL, every.get(), table, "geometry"));
        }
        for (TomlTable launch : table.tables(
                "launch", "launch = [{ kernel = \"...\", global = [1024], local = [64] }]")) {
            launch.checkKeys(LAUNCH_KEYS, "a launch");
            String kernel = launch.text("kernel");
            if (kernel == null || kernel.isBlank()) {
                throw table.error(
                        "launch",
                        "a launch has no kernel; add: kernel = \"...\", or use geometry for"
                                + " all kernels");
            }
            launches.add(launch("launch", kernel, launch, launch, "kernel"));
        }
        return launches;
    }

    /** Returns a launch; its error has the position of {@code key} in {@code place}. */
    private static Launch launch(
            String kind, String kernel, TomlTable sizes, TomlTable place, String key)
            throws TomlException {
        List<Long> global = sizes.numbers("global");
        List<Long> local = sizes.numbers("local");
        try {
            return new Launch(kernel, new Geometry(global, local));
        } catch (IllegalArgumentException e) {
            throw place.error(key, kind + ": " + e.getMessage());
        }
    }

    /**
     * Returns the kernel of a recorded table. It says what code says: texts are not searched for
     * included files, and include directories are those of the compiler's tree.
     */
    static KernelSpec recorded(TomlTable table) throws TomlException {
        table.checkKeys(RECORDED_KEYS, "a recorded kernel");
        List<Path> sources = new ArrayList<>();
        for (String source : table.texts("source")) {
            sources.add(table.path("source", source));
        }
        if (sources.isEmpty()) {
            throw table.error("the recorded kernel has no source; add: source = [\"file.cl\"]");
        }
        SequencedMap<String, Path> headers = new LinkedHashMap<>();
        for (TomlTable header :
                table.tables("header", "header = [{ path = \"a.h\", file = \"include/a.h\" }]")) {
            header.checkKeys(HEADER_KEYS, "a header");
            String place = relative(header, "path", header.textOrEmpty("path"));
            if (headers.put(place, header.path("file", header.required("file"))) != null) {
                throw header.error(
                        "path", "the header '" + SafeText.ofFile(place) + "' is listed twice");
            }
        }
        for (String directory : table.texts("include-directory")) {
            relative(table, "include-directory", directory);
        }
        List<RecordedId> ids = new ArrayList<>();
        for (TomlTable target :
                table.tables(RecordedInputs.MARK, "target = [{ id = \"...\", backend = ... }]")) {
            ids.add(id(target));
        }
        return new KernelSpec(
                table.required("name"),
                table.place(),
                sources,
                List.of(),
                options(table),
                table.texts("entry"),
                launches(table),
                table.textOrEmpty("tag"),
                table.textOrEmpty("extra-digest"),
                Optional.of(new RecordedInputs(
                        headers,
                        table.texts("include-directory"),
                        table.flag("every-file-listed", false),
                        ids)));
    }

    private static RecordedId id(TomlTable target) throws TomlException {
        target.checkKeys(TARGET_KEYS, "a target");
        String hash = target.required("id");
        if (!ID.matcher(hash).matches()) {
            throw target.error(
                    "id", "the id '" + SafeText.ofFile(hash) + "' has not 64 hexadecimal digits");
        }
        String backend = target.required("backend");
        Backend known = Backend.ofPath(backend)
                .orElseThrow(() -> target.error(
                        "backend", "there is no backend '" + SafeText.ofFile(backend) + "'"));
        NavigableMap<String, String> environment = new TreeMap<>();
        Optional<TomlTable> variables = target.table("environment", "{ NAME = \"...\" }");
        if (variables.isPresent()) {
            for (String name : variables.get().keys()) {
                environment.put(name, variables.get().textOrEmpty(name));
            }
        }
        return new RecordedId(
                hash,
                new Target(
                        known,
                        target.required("vendor"),
                        target.required("device"),
                        target.required("driver")),
                environment);
    }

    /** Returns a path of the compiler's tree, which is relative to the source. */
    private static String relative(TomlTable table, String key, String path) throws TomlException {
        if (path.isEmpty() || path.startsWith("/") || path.indexOf('\0') >= 0) {
            throw table.error(
                    key,
                    key + " must be relative to the source, not '" + SafeText.ofFile(path) + "'");
        }
        return path;
    }
}
