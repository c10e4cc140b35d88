package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.gpu.BuildOptions;
import dev.granary.gpu.Geometry;

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
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A list of kernel programs, read from a TOML file. Each {@code [[kernel]]} table has {@code name}
 * and {@code source}, and optionally {@code include}, {@code options}, {@code entry} and
 * {@code geometry}. Paths are relative to the manifest, including those of {@code -I} options.
 *
 * @param kernels the programs, in the file's order; at least one
 */
public record KernelManifest(List<KernelSpec> kernels) {
    private static final Set<String> KEYS =
            Set.of("name", "source", "include", "options", "entry", "geometry");
    private static final Set<String> GEOMETRY_KEYS = Set.of("global", "local");

    /** Copies the list. */
    public KernelManifest {
        kernels = List.copyOf(kernels);
    }

    /**
     * Reads and checks a manifest. It does not check that the sources exist: a missing source is a
     * failure of its kernel, not of the manifest.
     *
     * @throws KernelManifestException if the file cannot be read or is not a manifest
     */
    public static KernelManifest read(Path file) throws KernelManifestException {
        if (Files.isDirectory(file)) {
            throw new KernelManifestException(
                    file + " is a directory; name the manifest file in it.");
        }
        try {
            return new Reader(file, TomlFile.read(file)).read();
        } catch (TomlException e) {
            throw new KernelManifestException(file + ":" + e.line() + ":" + e.column()
                    + ": this is not TOML: " + e.getMessage() + ".");
        } catch (IOException e) {
            throw new KernelManifestException(
                    "The manifest " + file + " cannot be read: " + reason(e) + ".");
        }
    }

    private static String reason(IOException e) {
        return switch (e) {
            case NoSuchFileException _ -> "there is no such file";
            case CharacterCodingException _ -> "it is not UTF-8 text";
            default -> e.toString();
        };
    }

    /** Reader of the tables of one file. Its exceptions contain file, line and kernel. */
    private record Reader(Path file, TomlParseResult toml) {
        KernelManifest read() throws KernelManifestException {
            for (String key : toml.keySet()) {
                if (!key.equals("kernel")) {
                    throw error(
                            position(toml, key),
                            "unknown key '" + TomlFile.harmless(key)
                                    + "'; a manifest consists of [[kernel]] tables");
                }
            }
            if (toml.get("kernel") == null) {
                throw new KernelManifestException(
                        file + " has no kernel: add a [[kernel]] table with name and source.");
            }
            if (!(toml.get("kernel") instanceof TomlArray tables)
                    || tables.isEmpty()
                    || !tables.toList().stream().allMatch(TomlTable.class::isInstance)) {
                throw error(
                        position(toml, "kernel"),
                        "kernel must be tables: write [[kernel]], with two brackets");
            }
            List<KernelSpec> kernels = new ArrayList<>();
            Set<String> names = new HashSet<>();
            for (int i = 0; i < tables.size(); i++) {
                KernelSpec kernel = kernel(tables.getTable(i), tables.inputPositionOf(i));
                if (!names.add(kernel.name())) {
                    throw error(
                            tables.inputPositionOf(i),
                            "the name '" + TomlFile.harmless(kernel.name())
                                    + "' is used twice; names must differ");
                }
                kernels.add(kernel);
            }
            return new KernelManifest(kernels);
        }

        private KernelSpec kernel(TomlTable table, @Nullable TomlPosition position)
                throws KernelManifestException {
            checkKeys(table, KEYS, "a kernel");
            String name = text(table, "name");
            String source = text(table, "source");
            if (name == null || name.isBlank()) {
                throw error(position, "this kernel has no name; add: name = \"...\"");
            }
            if (source == null || source.isBlank()) {
                throw error(
                        position,
                        "kernel '" + TomlFile.harmless(name)
                                + "' has no source; add: source = \"path/to/file.cl\"");
            }
            List<Path> includes = new ArrayList<>();
            for (String directory : texts(table, "include")) {
                includes.add(path(table, "include", directory));
            }
            List<String> options = new ArrayList<>();
            for (String option : optionTokens(table)) {
                if (option.startsWith("-I")) {
                    includes.add(path(table, "options", option.substring(2)));
                } else {
                    options.add(option);
                }
            }
            return new KernelSpec(
                    name,
                    path(table, "source", source),
                    includes,
                    options,
                    texts(table, "entry"),
                    geometry(table));
        }

        private List<String> optionTokens(TomlTable table) throws KernelManifestException {
            String options = text(table, "options");
            try {
                return options == null ? List.of() : BuildOptions.parse(options);
            } catch (IllegalArgumentException e) {
                throw error(
                        position(table, "options"),
                        TomlFile.harmless(String.valueOf(e.getMessage())));
            }
        }

        private Optional<Geometry> geometry(TomlTable table) throws KernelManifestException {
            Object value = table.get("geometry");
            if (value == null) {
                return Optional.empty();
            }
            if (!(value instanceof TomlTable sizes)) {
                throw error(
                        position(table, "geometry"),
                        "geometry must be a table such as { global = [1024], local = [64] }");
            }
            checkKeys(sizes, GEOMETRY_KEYS, "a geometry");
            try {
                return Optional.of(new Geometry(numbers(sizes, "global"), numbers(sizes, "local")));
            } catch (IllegalArgumentException e) {
                throw error(position(table, "geometry"), "geometry: " + e.getMessage());
            }
        }

        private void checkKeys(TomlTable table, Set<String> allowedKeys, String owner)
                throws KernelManifestException {
            for (String key : table.keySet()) {
                if (!allowedKeys.contains(key)) {
                    throw error(
                            position(table, key),
                            "unknown key '" + TomlFile.harmless(key) + "'; " + owner + " has "
                                    + String.join(
                                            ", ", allowedKeys.stream().sorted().toList()));
                }
            }
        }

        private @Nullable String text(TomlTable table, String key) throws KernelManifestException {
            Object value = table.get(key);
            if (value == null || value instanceof String) {
                return (String) value;
            }
            throw error(
                    position(table, key), key + " must be a string, such as " + key + " = \"...\"");
        }

        private List<String> texts(TomlTable table, String key) throws KernelManifestException {
            return list(
                    table, key, String.class, "a list of strings, such as " + key + " = [\"...\"]");
        }

        private List<Long> numbers(TomlTable table, String key) throws KernelManifestException {
            return list(
                    table,
                    key,
                    Long.class,
                    "a list of whole numbers, such as " + key + " = [64, 64]");
        }

        private <T> List<T> list(TomlTable table, String key, Class<T> type, String expected)
                throws KernelManifestException {
            Object value = table.get(key);
            if (value == null) {
                return List.of();
            }
            List<T> items = new ArrayList<>();
            if (value instanceof TomlArray array) {
                for (Object item : array.toList()) {
                    if (type.isInstance(item)) {
                        items.add(type.cast(item));
                    }
                }
                if (items.size() == array.size()) {
                    return items;
                }
            }
            throw error(position(table, key), key + " must be " + expected);
        }

        private Path path(TomlTable table, String key, String text) throws KernelManifestException {
            try {
                return file.toAbsolutePath().resolveSibling(text).normalize();
            } catch (InvalidPathException e) {
                throw error(
                        position(table, key), key + " is not a path: " + TomlFile.harmless(text));
            }
        }

        /** Returns the position of a key, which may contain any characters. */
        private static @Nullable TomlPosition position(TomlTable table, String key) {
            return table.inputPositionOf(List.of(key));
        }

        private KernelManifestException error(
                @Nullable TomlPosition position, @Nullable String message) {
            return new KernelManifestException(
                    file + (position == null ? "" : ":" + position.line() + ":" + position.column())
                            + ": " + message + ".");
        }
    }
}
