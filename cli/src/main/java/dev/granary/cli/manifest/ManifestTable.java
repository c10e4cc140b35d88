package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.TomlFile;

import org.jspecify.annotations.Nullable;
import org.tomlj.TomlArray;
import org.tomlj.TomlPosition;
import org.tomlj.TomlTable;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * A table of a kernel manifest or plan file, with access to its values by type. Its exceptions
 * contain file, line and column.
 *
 * @param file the manifest
 * @param values the keys and values
 * @param parameters the values in place of texts such as {@code "$tile"}, by the name after the
 *     dollar sign; none for a manifest without parameters
 */
public record ManifestTable(Path file, TomlTable values, Map<String, Object> parameters) {
    /** Creates a table without parameters. */
    public ManifestTable(Path file, TomlTable values) {
        this(file, values, Map.of());
    }

    /** Returns the name of a parameter in a value such as {@code "$tile"}; empty for others. */
    public static Optional<String> parameter(@Nullable Object value) {
        return value instanceof String text && text.startsWith("$")
                ? Optional.of(text.substring(1))
                : Optional.empty();
    }

    private @Nullable Object substituted(@Nullable Object value) {
        return parameter(value).map(parameters::get).orElse(value);
    }

    /** Returns the keys in the order of the file. */
    public List<String> keys() {
        return values.keySet().stream()
                .sorted(Comparator.comparing(
                        this::position,
                        Comparator.nullsLast(Comparator.comparingInt(TomlPosition::line)
                                .thenComparingInt(TomlPosition::column))))
                .toList();
    }

    /**
     * Checks that the table has no other keys.
     *
     * @param owner the kind of table, for the message, such as {@code "a kernel"}
     */
    public void checkKeys(Set<String> allowedKeys, String owner) throws KernelManifestException {
        for (String key : values.keySet()) {
            if (!allowedKeys.contains(key)) {
                throw error(
                        key,
                        "unknown key '" + TomlFile.harmless(key) + "'; " + owner + " has "
                                + String.join(
                                        ", ", allowedKeys.stream().sorted().toList()));
            }
        }
    }

    /** Returns a value of any type; null if the key is absent. */
    public @Nullable Object value(String key) {
        return substituted(values.get(List.of(key)));
    }

    /** Returns a text; null if the key is absent. */
    public @Nullable String text(String key) throws KernelManifestException {
        Object value = value(key);
        if (value == null || value instanceof String) {
            return (String) value;
        }
        throw error(key, key + " must be a string, such as " + key + " = \"...\"");
    }

    public String textOrEmpty(String key) throws KernelManifestException {
        return Objects.requireNonNullElse(text(key), "");
    }

    /** Returns a list of texts; empty if the key is absent. */
    public List<String> texts(String key) throws KernelManifestException {
        return list(key, String.class, "a list of strings, such as " + key + " = [\"...\"]");
    }

    /** Returns a list of whole numbers; empty if the key is absent. */
    public List<Long> numbers(String key) throws KernelManifestException {
        return list(key, Long.class, "a list of whole numbers, such as " + key + " = [64, 64]");
    }

    /** Returns a table; empty if the key is absent. */
    public Optional<ManifestTable> table(String key, String example)
            throws KernelManifestException {
        return switch (value(key)) {
            case null -> Optional.empty();
            case TomlTable table -> Optional.of(new ManifestTable(file, table, parameters));
            default -> throw error(key, key + " must be a table such as " + example);
        };
    }

    /** Returns a list of tables; empty if the key is absent. */
    public List<ManifestTable> tables(String key, String example) throws KernelManifestException {
        return list(key, TomlTable.class, "a list of tables, such as " + key + " = " + example)
                .stream()
                .map(table -> new ManifestTable(file, table, parameters))
                .toList();
    }

    private <T> List<T> list(String key, Class<T> type, String expected)
            throws KernelManifestException {
        Object value = value(key);
        if (value == null) {
            return List.of();
        }
        List<T> items = new ArrayList<>();
        if (value instanceof TomlArray array) {
            for (Object one : array.toList()) {
                Object item = substituted(one);
                if (type.isInstance(item)) {
                    items.add(type.cast(item));
                }
            }
            if (items.size() == array.size()) {
                return items;
            }
        }
        throw error(key, key + " must be " + expected);
    }

    /** Returns the path that a text of {@code key} names, relative to the manifest. */
    public Path path(String key, String text) throws KernelManifestException {
        try {
            return file.toAbsolutePath().resolveSibling(text).normalize();
        } catch (InvalidPathException e) {
            throw notPath(key, text);
        }
    }

    /** Returns the exception for a text of {@code key} that is not a path. */
    public KernelManifestException notPath(String key, String text) {
        return error(key, key + " is not a path: " + TomlFile.harmless(text));
    }

    /** Returns the position of a key, which may contain any characters. */
    public @Nullable TomlPosition position(String key) {
        return values.inputPositionOf(List.of(key));
    }

    /** Returns an exception with the position of a key. */
    public KernelManifestException error(String key, @Nullable String message) {
        return error(position(key), message);
    }

    /** Returns an exception with a position; without one, it contains the file only. */
    public KernelManifestException error(
            @Nullable TomlPosition position, @Nullable String message) {
        return new KernelManifestException(
                file + (position == null ? "" : ":" + position.line() + ":" + position.column())
                        + ": " + message + ".");
    }
}
