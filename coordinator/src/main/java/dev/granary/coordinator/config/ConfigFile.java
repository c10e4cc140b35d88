package dev.granary.coordinator.config;

import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;

import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlTable;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Parsed configuration file. Unknown keys are mistakes. */
final class ConfigFile {
    private static final String FILE_VARIABLE = "GRANARY_CONFIG";

    /**
     * The unexpected token in a message of the parser, which may be an unquoted secret; the message
     * keeps its position.
     */
    private static final Pattern UNEXPECTED_TOKEN =
            Pattern.compile("Unexpected '.*', (?=expected)", Pattern.DOTALL);

    private final String place;
    private final TomlParseResult values;

    private ConfigFile(String place, TomlParseResult values) {
        this.place = place;
        this.values = values;
    }

    /**
     * Reads the file that the environment names, else the file at the default location; an absent
     * default file is empty.
     */
    static ConfigFile find(Map<String, String> environment) throws ConfigException {
        String configured = environment.get(FILE_VARIABLE);
        if (configured != null && !configured.isBlank()) {
            return read(path(configured, FILE_VARIABLE));
        }
        Optional<Path> defaultFile = homeOf(environment, "XDG_CONFIG_HOME", ".config")
                .map(home -> home.resolve("granary").resolve("config.toml"));
        return defaultFile.isPresent() && Files.exists(defaultFile.get())
                ? read(defaultFile.get())
                : new ConfigFile("nowhere", Toml.parse(""));
    }

    /**
     * Returns the directory that {@code variable} names if it is absolute (the XDG Base Directory
     * Specification ignores all others), else {@code fallback} in the user's home. The result is
     * empty if the user has no home.
     */
    static Optional<Path> homeOf(Map<String, String> environment, String variable, String fallback)
            throws ConfigException {
        String configured = environment.get(variable);
        if (configured != null && !configured.isBlank()) {
            Path home = path(configured, variable);
            if (home.isAbsolute()) {
                return Optional.of(home);
            }
        }
        String home = environment.get("HOME");
        if (home == null || home.isBlank() || !path(home, "HOME").isAbsolute()) {
            home = System.getProperty("user.home", ""); // "?" if unknown
        }
        Path known = path(home, "HOME");
        return known.isAbsolute() ? Optional.of(known.resolve(fallback)) : Optional.empty();
    }

    private static Path path(String text, String variable) throws ConfigException {
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new ConfigException("The environment variable " + variable + " is not a path: "
                    + e.getReason() + ".");
        }
    }

    /** Returns the value of a setting; empty if the file does not have it. */
    <T> Optional<T> value(Setting<T> setting) throws ConfigException {
        // a path, since a string would be split at its dots
        Object value = values.get(List.of(setting.key()));
        if (value == null) {
            return Optional.empty();
        }
        String keyPlace = place + ": " + setting.key();
        requireType(value, setting.inFile(), setting, keyPlace);
        List<?> parts = value instanceof TomlArray list ? list.toList() : List.of(value);
        if (value instanceof TomlArray) {
            for (Object part : parts) {
                requireType(part, Set.of(String.class), setting, keyPlace);
            }
        }
        return Optional.of(setting.parse(
                parts.stream().map(Object::toString).collect(Collectors.joining(" ")), keyPlace));
    }

    private static void requireType(
            Object value, Set<Class<?>> types, Setting<?> setting, String place)
            throws ConfigException {
        if (types.stream().noneMatch(type -> type.isInstance(value))) {
            boolean hasParts = value instanceof TomlTable || value instanceof TomlArray;
            throw setting.mistake(hasParts ? "a table or list" : value, place);
        }
    }

    private static ConfigFile read(Path file) throws ConfigException {
        TomlParseResult parsed;
        try {
            parsed = TomlFile.read(file);
        } catch (TomlException e) {
            throw new ConfigException("The configuration file " + file + ":" + e.line() + ":"
                    + e.column() + " is not TOML: "
                    + UNEXPECTED_TOKEN.matcher(e.getMessage()).replaceFirst("Unexpected text, ")
                    + ".");
        } catch (IOException e) {
            throw new ConfigException(
                    "The configuration file " + file + " cannot be read: " + reason(e) + ".");
        }
        for (String key : parsed.keySet()) {
            if (Setting.ALL.stream().noneMatch(setting -> setting.key().equals(key))) {
                throw new ConfigException("The configuration file " + file
                        + " has the unknown key '" + SafeText.of(key) + "'; known are "
                        + String.join(
                                ", ", Setting.ALL.stream().map(Setting::key).toList()) + ".");
            }
        }
        return new ConfigFile(file.toString(), parsed);
    }

    private static String reason(IOException e) {
        return switch (e) {
            case NoSuchFileException _ ->
                "there is no such file; create it, or correct " + FILE_VARIABLE;
            case CharacterCodingException _ -> "it is not UTF-8 text";
            default -> String.valueOf(e.getMessage());
        };
    }
}
