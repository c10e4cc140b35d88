package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;

import org.jspecify.annotations.Nullable;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlPosition;
import org.tomlj.TomlTable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
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

    private final ExpansionLimits limits = new ExpansionLimits();
    // of each manifest read, by its identity: the manifests that lead to it, and itself
    private final Map<Path, List<Path>> chains = new HashMap<>();
    private final Set<String> names = new HashSet<>();
    private final List<KernelSpec> kernels = new ArrayList<>();

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
            throw KernelManifestException.unreadable("manifest", file, e);
        }
        return kernels;
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

    /** Returns the real path of a file, or its normalized path if it has none. */
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
                            + KernelManifestException.reason(e));
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
        TableOptions options = TableOptions.of(table);
        return new KernelDefaults(
                options.includeDirectories(),
                options.tokens(),
                MacroMatrix.of(table),
                LaunchReader.everyKernel(table),
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
        List<ProgramReader.Program> programs = new ProgramReader(table, limits).read(position);
        TableOptions options = TableOptions.of(table).over(defaults);
        MacroMatrix macros = MacroMatrix.of(table).over(defaults.macros());
        checkSize(
                table,
                position,
                programs,
                macros,
                options.count(),
                !defaults.equals(KernelDefaults.NONE));
        KernelSpec common = new KernelSpec(
                "",
                List.of(),
                options.includeDirectories(),
                options.tokens(),
                table.texts("entry"),
                LaunchReader.launches(table, defaults),
                table.value("tag") == null ? defaults.tag() : table.textOrEmpty("tag"),
                table.value("extra-digest") == null
                        ? defaults.extraDigest()
                        : table.textOrEmpty("extra-digest"));
        List<MacroMatrix.Variant> variants = macros.variants();
        for (ProgramReader.Program program : programs) {
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
            List<ProgramReader.Program> programs,
            MacroMatrix macros,
            int options,
            boolean isInherited)
            throws KernelManifestException {
        if (macros.longestSuffix() > ExpansionLimits.MAX_NAME_CHARACTERS) {
            throw table.error(
                    position,
                    "the lists of define make names of more than "
                            + ExpansionLimits.MAX_NAME_CHARACTERS
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
}
