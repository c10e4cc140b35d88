package dev.granary.cli.manifest;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelSpec.RecordedInputs;
import dev.granary.coordinator.recording.RecordedId;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * Reader of a kernel manifest: a list of kernel programs in a TOML file. Each {@code [[kernel]]}
 * table has {@code name} and {@code source}, and optionally {@code include}, {@code options},
 * {@code define}, {@code entry}, {@code geometry}, {@code launch}, {@code tag} and
 * {@code extra-digest}. Paths are relative to the manifest, including those of {@code -I} options.
 * A table with {@code target} is a recorded kernel.
 *
 * <p>A table may stand for many programs: one for each file that a pattern in {@code source}
 * matches, and one for each combination of the values in {@code define}. The table {@code defaults}
 * has keys that the programs of the same file inherit, and {@code include-manifests} adds the
 * programs of other files. A short text may thus stand for many programs or a whole file system, so
 * their number is limited for all files together.
 */
public final class KernelManifest {
    private static final int MAX_MANIFESTS = 100;

    /** The largest number of programs that are not written one by one. */
    static final int MAX_KERNELS = 10_000;

    private static final String INCLUDE_MANIFESTS = "include-manifests";
    private static final String KERNEL = "kernel";
    private static final Set<String> FILE_KEYS = Set.of(KERNEL, "defaults", INCLUDE_MANIFESTS);
    private static final Set<String> DEFAULTS_KEYS =
            Set.of("include", "options", "define", "geometry", "tag", "extra-digest");
    private static final Set<String> KERNEL_KEYS = Set.of(
            "name source include options define entry geometry launch tag extra-digest".split(" "));

    private static final RecordedId ANY_TARGET = new RecordedId(
            "", new Target(Backend.OPENCL, "granary", "none", "none"), new TreeMap<>());

    private final Set<Path> manifests = new HashSet<>(); // all that were read
    private final Map<String, Path> names = new HashMap<>(); // and the manifests that have them
    private final Map<Object, Integer> recorded = new HashMap<>(); // positions by identity
    private final List<KernelSpec> kernels = new ArrayList<>();
    private final AtomicInteger filesLeft = new AtomicInteger(ProgramSources.MAX_FILES);
    private long expandedKernels;

    private KernelManifest() {}

    /**
     * Reads and checks a manifest with all manifests that it includes. It does not check that the
     * sources exist: a missing source is a failure of its kernel, not of the manifest. A pattern
     * that matches no file is an error. Programs of included manifests come first.
     */
    public static List<KernelSpec> read(Path file) throws TomlException {
        if (Files.isDirectory(file)) {
            throw new TomlException(file + " is a directory; name the manifest file in it.");
        }
        KernelManifest manifest = new KernelManifest();
        try {
            manifest.manifests.add(identity(file));
            manifest.readFile(file);
        } catch (IOException e) {
            throw TomlException.unreadable("manifest", file, e);
        }
        return List.copyOf(manifest.kernels);
    }

    /** Reads one file; an {@code IOException} is of it, not of files that it includes. */
    private void readFile(Path file) throws IOException, TomlException {
        TomlTable top = TomlTable.read(file);
        top.checkKeys(FILE_KEYS, "a manifest");
        List<String> included = top.texts(INCLUDE_MANIFESTS);
        List<TomlTable> tables = top.tables(KERNEL, "[[kernel]], with two brackets");
        if (tables.isEmpty() && top.has(KERNEL)) {
            throw top.error(KERNEL, "the list has no kernel; write [[kernel]] tables");
        }
        if (tables.isEmpty() && included.isEmpty()) {
            throw new TomlException(
                    file + " has no kernel: add a [[kernel]] table with name and source.");
        }
        Optional<TomlTable> defaults = top.table("defaults", "[defaults]");
        if (defaults.isPresent()) {
            defaults.get().checkKeys(DEFAULTS_KEYS, "[defaults]");
            // reports a mistake even if no kernel follows
            KernelInputs.of("", List.of(), List.of(), List.of(defaults.get()));
        }
        for (String name : included) {
            include(top, name);
        }
        for (TomlTable table : tables) {
            if (table.has(RecordedInputs.MARK)) {
                addRecorded(table, KernelInputs.recorded(table));
            } else {
                expand(table, defaults);
            }
        }
    }

    /** Returns the real path of a file, or its normalized path if it has none. */
    private static Path identity(Path file) {
        try {
            return file.toRealPath();
        } catch (IOException e) {
            return file.toAbsolutePath().normalize(); // it cannot be read either, or is a pipe
        }
    }

    private void include(TomlTable top, String name) throws TomlException {
        top.path(INCLUDE_MANIFESTS, name); // reports a text that is no path
        Path file = top.file().resolveSibling(name).normalize();
        if (!manifests.add(identity(file))) {
            throw top.error(
                    INCLUDE_MANIFESTS,
                    "the manifest " + SafeText.ofFile(file.toString())
                            + " is included twice, or includes itself");
        }
        if (manifests.size() > MAX_MANIFESTS) {
            throw top.error(
                    INCLUDE_MANIFESTS, "there are more than " + MAX_MANIFESTS + " manifests");
        }
        try {
            if (Files.exists(file) && !Files.isRegularFile(file)) { // a pipe would block
                throw top.error(
                        INCLUDE_MANIFESTS, SafeText.ofFile(file.toString()) + " is not a file");
            }
            readFile(file);
        } catch (IOException e) {
            throw top.error(
                    INCLUDE_MANIFESTS,
                    "the manifest " + SafeText.ofFile(file.toString()) + " cannot be read: "
                            + TomlException.reason(e));
        }
    }

    /** Adds the programs that one table stands for. */
    private void expand(TomlTable table, Optional<TomlTable> defaults) throws TomlException {
        table.checkKeys(KERNEL_KEYS, "a kernel");
        List<ProgramSources.Program> programs = new ProgramSources(table, filesLeft).programs();
        List<TomlTable> tables =
                Stream.concat(defaults.stream(), Stream.of(table)).toList();
        MacroMatrix macros = MacroMatrix.of(tables);
        long size = programs.size() * macros.size();
        if (size > 1 && (expandedKernels += size) > MAX_KERNELS) {
            throw table.error("patterns and define make more than " + MAX_KERNELS + " kernels, "
                    + size + " of them here; name fewer files or values");
        }
        List<MacroMatrix.Variant> variants = macros.variants();
        for (ProgramSources.Program program : programs) {
            for (MacroMatrix.Variant variant : variants) {
                add(
                        table,
                        KernelInputs.of(
                                program.name() + variant.suffix(),
                                program.sources(),
                                variant.options(),
                                tables));
            }
        }
    }

    private void add(TomlTable table, KernelSpec kernel) throws TomlException {
        if (names.putIfAbsent(kernel.name(), table.file()) != null) {
            throw table.error("the name '" + SafeText.ofFile(kernel.name())
                    + "' is used twice; names must differ");
        }
        kernels.add(kernel);
    }

    /**
     * Adds a recorded kernel. If another recording has it, only its ids are added; if another
     * manifest has the name for another kernel, a number is added to the name.
     */
    private void addRecorded(TomlTable table, KernelSpec kernel) throws TomlException {
        RecordedInputs inputs = kernel.recorded().orElseThrow();
        Integer equal = recorded.putIfAbsent(identity(kernel), kernels.size());
        if (equal != null) {
            KernelSpec earlier = kernels.get(equal);
            kernels.set(
                    equal,
                    earlier.with(
                            earlier.name(),
                            earlier.recorded().map(all -> all.withIds(inputs.ids()))));
            return;
        }
        String name = kernel.name();
        for (int number = 2;
                !table.file().equals(names.getOrDefault(name, table.file()));
                number++) {
            name = kernel.name() + "-" + number;
        }
        add(table, kernel.with(name, kernel.recorded()));
    }

    /** Returns what equal kernels have in common: their id for one target, and the launches. */
    private static Object identity(KernelSpec kernel) {
        try {
            Id id = KernelSourceResolver.descriptor(kernel, ANY_TARGET).getId();
            return id.isEmpty() ? kernel : List.of(id.hash(), kernel.launches());
        } catch (IOException | IllegalArgumentException e) {
            return kernel; // who uses the kernel reports it
        }
    }
}
