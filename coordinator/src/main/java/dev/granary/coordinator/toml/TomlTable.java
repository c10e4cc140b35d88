package dev.granary.coordinator.toml;

import org.jspecify.annotations.Nullable;
import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseError;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlPosition;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A table of a TOML file, with its values by type. Exceptions contain file, line and column.
 * Immutable.
 */
public final class TomlTable {
    /** The longest file that is read, in bytes. */
    public static final int MAX_BYTES = 4 << 20;

    private final Path file;
    private final org.tomlj.TomlTable values;
    private final @Nullable TomlPosition position;
    private final Map<String, Object> parameters;

    private TomlTable(
            Path file,
            org.tomlj.TomlTable values,
            @Nullable TomlPosition position,
            Map<String, Object> parameters) {
        this.file = file;
        this.values = values;
        this.position = position;
        this.parameters = parameters;
    }

    /**
     * Reads a file.
     *
     * @throws IOException if the file cannot be read; a
     *     {@link java.nio.charset.CharacterCodingException} if it is not UTF-8
     * @throws TomlException if it is not TOML
     */
    public static TomlTable read(Path file) throws IOException, TomlException {
        return new TomlTable(file, parse(file), null, Map.of());
    }

    private static TomlParseResult parse(Path file) throws IOException, TomlException {
        byte[] bytes;
        try (var in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_BYTES + 1);
        }
        if (bytes.length > MAX_BYTES) {
            throw notToml(file.toString(), "the file has more than " + (MAX_BYTES >> 20) + " MiB");
        }
        String text = StandardCharsets.UTF_8
                .newDecoder()
                .decode(ByteBuffer.wrap(bytes))
                .toString();
        TomlParseError mistake;
        try {
            TomlParseResult result = Toml.parse(text);
            if (!result.hasErrors()) {
                return result;
            }
            mistake = result.errors().getFirst();
        } catch (TomlParseError e) {
            mistake = e;
        } catch (RuntimeException | AssertionError | StackOverflowError e) {
            throw notToml(file.toString(), "a value cannot be read, or is nested too deep");
        }
        throw notToml(
                file + ":" + mistake.position().line() + ":"
                        + mistake.position().column(),
                SafeText.ofFile(String.valueOf(mistake.getMessage())));
    }

    private static TomlException notToml(String place, String cause) {
        return new TomlException(place + ": this is not TOML: " + cause + ".");
    }

    /**
     * Returns this table with values in place of texts such as {@code "$tile"}.
     *
     * @param chosen the values by the name after the dollar sign
     */
    public TomlTable with(Map<String, Object> chosen) {
        return new TomlTable(file, values, position, Map.copyOf(chosen));
    }

    /** Returns the name of a parameter in a value such as {@code "$tile"}; empty for others. */
    public static Optional<String> parameter(@Nullable Object value) {
        return value instanceof String text && text.startsWith("$")
                ? Optional.of(text.substring(1))
                : Optional.empty();
    }

    public Path file() {
        return file;
    }

    /** Returns file and line of the table, such as {@code kernels.toml:7}. */
    public String place() {
        return file + (position == null ? "" : ":" + position.line());
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
    public void checkKeys(Set<String> allowedKeys, String owner) throws TomlException {
        for (String key : values.keySet()) {
            if (!allowedKeys.contains(key)) {
                throw error(
                        key,
                        "unknown key '" + SafeText.ofFile(key) + "'; " + owner + " has "
                                + String.join(
                                        ", ", allowedKeys.stream().sorted().toList())
                                + NearestName.hint(key, allowedKeys));
            }
        }
    }

    public boolean has(String key) {
        return values.get(List.of(key)) != null;
    }

    /**
     * Returns a value; null if the key is absent. A list is a {@link List}, a table a
     * {@link TomlTable}.
     */
    public @Nullable Object value(String key) {
        return converted(values.get(List.of(key)), position(key));
    }

    private @Nullable Object converted(@Nullable Object value, @Nullable TomlPosition place) {
        Optional<String> parameter = parameter(value);
        return switch (value) {
            case String _
            when parameter.isPresent() -> parameters.getOrDefault(parameter.get(), value);
            case org.tomlj.TomlTable table -> new TomlTable(file, table, place, parameters);
            case TomlArray array -> {
                List<Object> items = new ArrayList<>();
                for (int i = 0; i < array.size(); i++) {
                    items.add(Objects.requireNonNull(
                            converted(array.get(i), array.inputPositionOf(i))));
                }
                yield items;
            }
            case null, default -> value;
        };
    }

    /** Returns a text; null if the key is absent. */
    public @Nullable String text(String key) throws TomlException {
        return switch (value(key)) {
            case null -> null;
            case String text -> text;
            default -> throw error(key, key + " must be a string, such as " + key + " = \"...\"");
        };
    }

    /** Returns a text; the empty text if the key is absent. */
    public String textOrEmpty(String key) throws TomlException {
        return Objects.requireNonNullElse(text(key), "");
    }

    /** Returns a text that is not blank. */
    public String required(String key) throws TomlException {
        String text = text(key);
        if (text == null || text.isBlank()) {
            throw error(key + " is missing; add: " + key + " = \"...\"");
        }
        return text;
    }

    public boolean flag(String key, boolean valueIfAbsent) throws TomlException {
        return switch (value(key)) {
            case null -> valueIfAbsent;
            case Boolean flag -> flag;
            default -> throw error(key, key + " must be true or false");
        };
    }

    public int number(String key) throws TomlException {
        if (value(key) instanceof Long number
                && number >= Integer.MIN_VALUE
                && number <= Integer.MAX_VALUE) {
            return number.intValue();
        }
        throw error(key, key + " must be a whole number of 32 bits, such as " + key + " = 4");
    }

    /** Returns the one of {@code choices} with the text of the key; empty if it is absent. */
    public <E> Optional<E> choice(String key, List<E> choices) throws TomlException {
        String text = text(key);
        Optional<E> chosen = choices.stream()
                .filter(choice -> choice.toString().equals(text))
                .findFirst();
        if (text != null && chosen.isEmpty()) {
            throw error(
                    key,
                    key + " must be one of "
                            + choices.stream()
                                    .map(Object::toString)
                                    .collect(Collectors.joining(", ")));
        }
        return chosen;
    }

    /** Returns a list of texts; empty if the key is absent. */
    public List<String> texts(String key) throws TomlException {
        return list(key, String.class, "strings, such as " + key + " = [\"...\"]");
    }

    /** Returns a list of whole numbers; empty if the key is absent. */
    public List<Long> numbers(String key) throws TomlException {
        return list(key, Long.class, "whole numbers, such as " + key + " = [64, 64]");
    }

    /** Returns a table; empty if the key is absent. */
    public Optional<TomlTable> table(String key, String example) throws TomlException {
        return switch (value(key)) {
            case null -> Optional.empty();
            case TomlTable table -> Optional.of(table);
            default -> throw error(key, key + " must be a table such as " + example);
        };
    }

    /** Returns a list of tables; empty if the key is absent. */
    public List<TomlTable> tables(String key, String example) throws TomlException {
        return list(key, TomlTable.class, "tables, such as " + example);
    }

    private <T> List<T> list(String key, Class<T> type, String expected) throws TomlException {
        Object value = value(key);
        if (value == null) {
            return List.of();
        }
        if (value instanceof List<?> items && items.stream().allMatch(type::isInstance)) {
            return items.stream().<T>map(type::cast).toList();
        }
        throw error(key, key + " must be a list of " + expected);
    }

    /** Returns the path that a text of {@code key} names, relative to the file. */
    public Path path(String key, String text) throws TomlException {
        try {
            return file.toAbsolutePath().resolveSibling(text).normalize();
        } catch (InvalidPathException e) {
            throw error(key, key + " is not a path: " + SafeText.ofFile(text));
        }
    }

    private @Nullable TomlPosition position(String key) {
        return values.inputPositionOf(List.of(key));
    }

    /** A step that a value of the file may make invalid. */
    @FunctionalInterface
    public interface Step<T> {
        T run() throws TomlException;
    }

    /** Runs a step, and adds the position of a key to its failure. */
    public <T> T checked(String key, Step<T> step) throws TomlException {
        try {
            return step.run();
        } catch (IllegalArgumentException e) {
            throw error(key, SafeText.ofFile(String.valueOf(e.getMessage())));
        } catch (ArithmeticException e) {
            throw error(key, "a size or a product of sizes is too large; choose a smaller one");
        }
    }

    /** Returns an exception with the position of a key; if it is absent, with the file only. */
    public TomlException error(String key, String message) {
        return error(position(key), message);
    }

    /** Returns an exception with the position of the table. */
    public TomlException error(String message) {
        return error(position, message);
    }

    private TomlException error(@Nullable TomlPosition place, String message) {
        return new TomlException(
                file + (place == null ? "" : ":" + place.line() + ":" + place.column()) + ": "
                        + message + ".");
    }
}
