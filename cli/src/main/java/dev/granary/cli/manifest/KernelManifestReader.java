package dev.granary.cli.manifest;

import dev.granary.cli.manifest.SourcePattern.TooManyFilesException;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.Launch;

import org.jspecify.annotations.Nullable;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlPosition;
import org.tomlj.TomlTable;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Reader of a kernel manifest and the manifests that it includes. Used once, by one thread. Its
 * exceptions contain file, line and kernel.
 */
final class KernelManifestReader {
    private static final String INCLUDE_MANIFESTS = "include-manifests";
    private static final String RECORDED = "recorded";
    private static final Set<String> FILE_KEYS =
            Set.of("kernel", "defaults", RECORDED, INCLUDE_MANIFESTS);
    private static final Set<String> DEFAULTS_KEYS =
            Set.of("include", "options", "define", "geometry", "tag", "extra-digest");
    private static final Set<String> KERNEL_KEYS = Set.of(
            "name",
            "source",
            "include",
            "options",
            "define",
            "entry",
            "geometry",
            "launch",
            "tag",
            "extra-digest");
    private static final Set<String> GEOMETRY_KEYS = Set.of("global", "local");
    private static final Set<String> LAUNCH_KEYS = Set.of("kernel", "global", "local");

    /** The longest name that is made of a path and the values of macros. */
    private static final int MAX_NAME_CHARACTERS = 1_000;

    private final ExpansionLimits limits = new ExpansionLimits();
    private final Map<Path, List<Path>> chains = new HashMap<>();
    private final Set<String> names = new HashSet<>();
    private final List<KernelSpec> kernels = new ArrayList<>();

    /** One program of a table, before its macros are defined. */
    private record Program(String name, List<Path> sources) {}

    /** Returns the programs of a manifest; at least one. */
    List<KernelSpec> read(Path file) throws KernelManifestException {
        limits.addManifest();
        if (Files.isDirectory(file)) {
            throw new KernelManifestException(
                    file + " is a directory; name the manifest file in it.");
        }
        try {
            readFile(file, List.of());
        } catch (IOException e) {
            throw new KernelManifestException(
                    "The manifest " + file + " cannot be read: " + reason(e) + ".");
        }
        return kernels;
    }

    static String reason(IOException e) {
        return switch (e) {
            case NoSuchFileException _ -> "there is no such file";
            case CharacterCodingException _ -> "it is not UTF-8 text";
            default -> e.toString();
        };
    }

    /**
     * Reads one file.
     *
     * @param including the manifests that lead to it
     * @throws IOException if this file cannot be read; not for files that it includes
     */
    private void readFile(Path file, List<Path> including)
            throws IOException, KernelManifestException {
        List<Path> chain = Stream.concat(including.stream(), Stream.of(file)).toList();
        chains.put(identity(file), chain);
        TomlParseResult toml;
        try {
            toml = TomlFile.read(file);
        } catch (TomlException e) {
            throw new KernelManifestException(file + ":" + e.line() + ":" + e.column()
                    + ": this is not TOML: " + e.getMessage() + ".");
        }
        ManifestTable top = new ManifestTable(file, toml);
        for (String key : toml.keySet()) {
            if (!FILE_KEYS.contains(key)) {
                throw top.error(
                        key,
                        "unknown key '" + TomlFile.harmless(key)
                                + "'; a manifest consists of [[kernel]] tables, [defaults] and "
                                + INCLUDE_MANIFESTS);
            }
        }
        List<String> included = top.texts(INCLUDE_MANIFESTS);
        if (top.value("kernel") == null && top.value(RECORDED) == null && included.isEmpty()) {
            throw new KernelManifestException(
                    file + " has no kernel: add a [[kernel]] table with name and source.");
        }
        KernelDefaults defaults = defaults(top);
        for (String name : included) {
            include(top, name, chain);
        }
        if (top.value("kernel") != null) {
            readKernels(top, defaults);
        }
        if (top.value(RECORDED) != null) {
            readRecorded(top);
        }
    }

    private void readRecorded(ManifestTable top) throws KernelManifestException {
        List<ManifestTable> tables = top.tables(RECORDED, "[[recorded]]");
        if (tables.isEmpty()) {
            throw top.error(
                    RECORDED, "recorded must be tables: write [[recorded]], with two brackets");
        }
        for (ManifestTable table : tables) {
            add(table, table.position("name"), new RecordedKernelReader(table).read());
        }
    }

    /** Returns a path that is the same for each way to name a file, as far as there is one. */
    private static Path identity(Path file) {
        try {
            return file.toRealPath();
        } catch (IOException e) {
            return file.toAbsolutePath()
                    .normalize(); // the file cannot be read either, or is a pipe
        }
    }

    private void include(ManifestTable top, String name, List<Path> chain)
            throws KernelManifestException {
        top.path(INCLUDE_MANIFESTS, name); // reports a text that is no path
        Path file = top.file().resolveSibling(name).normalize();
        List<Path> earlier = chains.get(identity(file));
        if (earlier != null) {
            throw top.error(
                    INCLUDE_MANIFESTS,
                    chain.size() >= earlier.size()
                                    && chain.subList(0, earlier.size()).equals(earlier)
                            ? "a manifest includes itself: " + arrows(chain, file)
                            : "a manifest is included twice: " + arrows(chain, file) + ", and "
                                    + arrows(earlier.subList(0, earlier.size() - 1), file));
        }
        if (!limits.addManifest()) {
            throw top.error(
                    INCLUDE_MANIFESTS,
                    "there are more than " + ExpansionLimits.MAX_MANIFESTS + " manifests");
        }
        try {
            if (Files.exists(file) && !Files.isRegularFile(file)) { // a pipe would block
                throw top.error(
                        INCLUDE_MANIFESTS, TomlFile.harmless(file.toString()) + " is not a file");
            }
            readFile(file, chain);
        } catch (IOException e) {
            throw top.error(
                    INCLUDE_MANIFESTS,
                    "the manifest " + TomlFile.harmless(file.toString()) + " cannot be read: "
                            + reason(e));
        }
    }

    private static String arrows(List<Path> chain, Path last) {
        return Stream.concat(chain.stream(), Stream.of(last))
                .map(file -> TomlFile.harmless(file.toString()))
                .collect(Collectors.joining(" -> "));
    }

    private static KernelDefaults defaults(ManifestTable top) throws KernelManifestException {
        ManifestTable table = top.table("defaults", "[defaults]").orElse(null);
        if (table == null) {
            return KernelDefaults.NONE;
        }
        table.checkKeys(DEFAULTS_KEYS, "[defaults]");
        List<Path> includes = new ArrayList<>();
        List<String> options = new ArrayList<>();
        readOptions(table, includes, options);
        return new KernelDefaults(
                includes,
                options,
                MacroMatrix.of(table),
                geometryLaunch(table),
                table.textOrEmpty("tag"),
                table.textOrEmpty("extra-digest"));
    }

    private void readKernels(ManifestTable top, KernelDefaults defaults)
            throws KernelManifestException {
        if (!(top.value("kernel") instanceof TomlArray tables)
                || tables.isEmpty()
                || !tables.toList().stream().allMatch(TomlTable.class::isInstance)) {
            throw top.error("kernel", "kernel must be tables: write [[kernel]], with two brackets");
        }
        for (int i = 0; i < tables.size(); i++) {
            readKernel(
                    new ManifestTable(top.file(), tables.getTable(i)),
                    tables.inputPositionOf(i),
                    defaults);
        }
    }

    private void readKernel(
            ManifestTable table, @Nullable TomlPosition position, KernelDefaults defaults)
            throws KernelManifestException {
        table.checkKeys(KERNEL_KEYS, "a kernel");
        List<Program> programs = programs(table, position);
        List<Path> includes = new ArrayList<>();
        List<String> options = new ArrayList<>(defaults.options());
        readOptions(table, includes, options);
        includes.addAll(defaults.includeDirectories());
        MacroMatrix macros = MacroMatrix.of(table).over(defaults.macros());
        checkSize(
                table,
                position,
                programs,
                macros,
                options.size() + includes.size(),
                !defaults.equals(KernelDefaults.NONE));
        KernelSpec common = new KernelSpec(
                "",
                List.of(),
                includes,
                options,
                table.texts("entry"),
                launches(table, defaults),
                table.value("tag") == null ? defaults.tag() : table.textOrEmpty("tag"),
                table.value("extra-digest") == null
                        ? defaults.extraDigest()
                        : table.textOrEmpty("extra-digest"));
        List<MacroMatrix.Variant> variants = macros.variants();
        for (Program program : programs) {
            for (MacroMatrix.Variant variant : variants) {
                add(
                        table,
                        position,
                        common.variant(
                                program.name() + variant.suffix(),
                                program.sources(),
                                variant.options()));
            }
        }
    }

    private void checkSize(
            ManifestTable table,
            @Nullable TomlPosition position,
            List<Program> programs,
            MacroMatrix macros,
            int options,
            boolean isInherited)
            throws KernelManifestException {
        if (macros.longestSuffix() > MAX_NAME_CHARACTERS) {
            throw table.error(
                    position,
                    "the lists of define make names of more than " + MAX_NAME_CHARACTERS
                            + " characters; use fewer lists or shorter values");
        }
        long size = programs.size() * macros.size();
        boolean isExpanded = macros.hasLists() || programs.size() > 1;
        if (isExpanded && !limits.addKernels(size)) {
            throw table.error(
                    position,
                    "patterns and define make more than " + ExpansionLimits.MAX_KERNELS
                            + " kernels, " + size + " of them here; name fewer files or values");
        }
        if ((isExpanded || isInherited)
                && !limits.addOptions(size * (options + macros.macros().size()))) {
            throw table.error(
                    position,
                    "the kernels of patterns, define and defaults have more than "
                            + ExpansionLimits.MAX_OPTIONS
                            + " options together; name fewer options, files or values");
        }
    }

    private void add(ManifestTable table, @Nullable TomlPosition position, KernelSpec kernel)
            throws KernelManifestException {
        if (!names.add(kernel.name())) {
            throw table.error(
                    position,
                    "the name '" + TomlFile.harmless(kernel.name())
                            + "' is used twice; names must differ");
        }
        kernels.add(kernel);
    }

    /** Returns the programs of a table: several only if its source is a pattern. */
    private List<Program> programs(ManifestTable table, @Nullable TomlPosition position)
            throws KernelManifestException {
        Object source = table.value("source");
        boolean isPattern = source instanceof String text && SourcePattern.isPattern(text);
        String name = table.text("name");
        if ((name == null && !isPattern) || (name != null && name.isBlank())) {
            throw table.error(position, "this kernel has no name; add: name = \"...\"");
        }
        if (source instanceof String text && SourcePattern.isPattern(text)) {
            return perFile(table, text, name);
        }
        String shown = TomlFile.harmless(Objects.requireNonNull(name));
        if (source == null || (source instanceof String text && text.isBlank())) {
            throw table.error(
                    position,
                    "kernel '" + shown + "' has no source; add: source = \"path/to/file.cl\"");
        }
        if (source instanceof String text) {
            return List.of(new Program(name, List.of(table.path("source", text))));
        }
        if (!(source instanceof TomlArray)) {
            throw table.error(
                    "source",
                    "source must be a string or a list of strings, such as source =" + " \"...\"");
        }
        return List.of(new Program(name, listed(table, shown)));
    }

    private List<Program> perFile(ManifestTable table, String text, @Nullable String name)
            throws KernelManifestException {
        SourcePattern pattern = pattern(table, text);
        List<Program> programs = new ArrayList<>();
        for (Path file : matches(table, pattern, text)) {
            String below = pattern.base().relativize(file).toString();
            int extension = below.lastIndexOf('.');
            String stem =
                    extension > below.lastIndexOf('/') + 1 ? below.substring(0, extension) : below;
            String full = name == null ? stem : name + "/" + stem;
            if (full.length() > MAX_NAME_CHARACTERS) {
                throw table.error(
                        "source",
                        "a name of more than " + MAX_NAME_CHARACTERS + " characters is made of "
                                + TomlFile.harmless(below));
            }
            programs.add(new Program(full, List.of(file)));
        }
        return programs;
    }

    /**
     * Returns the sources of one program. A pattern adds the files that no other item of the list
     * has.
     */
    private List<Path> listed(ManifestTable table, String name) throws KernelManifestException {
        List<String> texts = table.texts("source");
        Set<Path> named = new HashSet<>();
        for (String text : texts) {
            if (text.isBlank()) {
                throw table.error("source", "kernel '" + name + "' has a source without a path");
            }
            if (!SourcePattern.isPattern(text)) {
                named.add(table.path("source", text));
            }
        }
        List<Path> sources = new ArrayList<>();
        for (String text : texts) {
            if (SourcePattern.isPattern(text)) {
                Set<Path> added = new LinkedHashSet<>(matches(table, pattern(table, text), text));
                added.removeIf(file -> !named.add(file));
                sources.addAll(added);
            } else {
                sources.add(table.path("source", text));
            }
        }
        if (sources.isEmpty()) {
            throw table.error(
                    "source",
                    "kernel '" + name + "' has no source; add: source = [\"path/to/file.cl\"]");
        }
        return sources;
    }

    private static SourcePattern pattern(ManifestTable table, String text)
            throws KernelManifestException {
        try {
            Path directory = table.path("source", "");
            return SourcePattern.parse(directory, text);
        } catch (InvalidPathException e) {
            throw table.notPath("source", text);
        } catch (PatternSyntaxException e) {
            throw table.error(
                    "source",
                    "the pattern '" + TomlFile.harmless(text) + "' is wrong: "
                            + TomlFile.harmless(String.valueOf(e.getDescription())));
        }
    }

    private List<Path> matches(ManifestTable table, SourcePattern pattern, String text)
            throws KernelManifestException {
        List<Path> files;
        try {
            files = pattern.matches(limits);
        } catch (TooManyFilesException e) {
            throw table.error(
                    "source",
                    "patterns reach more than " + ExpansionLimits.MAX_FILES + " files, here below "
                            + TomlFile.harmless(pattern.base().toString())
                            + "; name a smaller directory");
        } catch (IOException e) {
            throw table.error(
                    "source",
                    "a directory of the pattern '" + TomlFile.harmless(text) + "' cannot be read: "
                            + TomlFile.harmless(e.toString()));
        }
        if (files.isEmpty()) {
            throw table.error(
                    "source",
                    "no file matches '" + TomlFile.harmless(text) + "' below "
                            + TomlFile.harmless(pattern.base().toString()));
        }
        return files;
    }

    /** Adds the include directories and the build options of a table to these lists. */
    private static void readOptions(ManifestTable table, List<Path> includes, List<String> options)
            throws KernelManifestException {
        for (String directory : table.texts("include")) {
            includes.add(table.path("include", directory));
        }
        for (String option : optionTokens(table)) {
            if (option.startsWith("-I")) {
                includes.add(table.path("options", option.substring(2)));
            } else {
                options.add(option);
            }
        }
    }

    private static List<String> optionTokens(ManifestTable table) throws KernelManifestException {
        String options = table.text("options");
        try {
            return options == null ? List.of() : BuildOptions.parse(options);
        } catch (IllegalArgumentException e) {
            throw table.error("options", TomlFile.harmless(String.valueOf(e.getMessage())));
        }
    }

    private static List<Launch> launches(ManifestTable table, KernelDefaults defaults)
            throws KernelManifestException {
        if (table.value("geometry") == null && table.value("launch") == null) {
            return defaults.geometry();
        }
        List<Launch> launches = new ArrayList<>(geometryLaunch(table));
        for (ManifestTable launch :
                table.tables("launch", "[{ kernel = \"...\", global = [1024], local = [64] }]")) {
            launch.checkKeys(LAUNCH_KEYS, "a launch");
            String kernel = launch.text("kernel");
            if (kernel == null || kernel.isBlank()) {
                throw table.error(
                        "launch",
                        "a launch has no kernel; add: kernel = \"...\", or use geometry for"
                                + " all kernels");
            }
            launches.add(new Launch(kernel, geometry(launch, "launch", launch.position("kernel"))));
        }
        return launches;
    }

    /** Returns the launch of every kernel in {@code geometry}; empty if there is none. */
    private static List<Launch> geometryLaunch(ManifestTable table) throws KernelManifestException {
        ManifestTable sizes =
                table.table("geometry", "{ global = [1024], local = [64] }").orElse(null);
        if (sizes == null) {
            return List.of();
        }
        sizes.checkKeys(GEOMETRY_KEYS, "a geometry");
        return List.of(new Launch(
                Launch.EVERY_KERNEL, geometry(sizes, "geometry", table.position("geometry"))));
    }

    private static Geometry geometry(
            ManifestTable sizes, String key, @Nullable TomlPosition position)
            throws KernelManifestException {
        try {
            return new Geometry(sizes.numbers("global"), sizes.numbers("local"));
        } catch (IllegalArgumentException e) {
            throw sizes.error(position, key + ": " + e.getMessage());
        }
    }
}
