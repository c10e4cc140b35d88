package dev.granary.coordinator.config;

import dev.granary.coordinator.toml.NearestName;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** Parsed configuration file. Unknown keys are mistakes. */
final class ConfigFile {
    static final String FILE_VARIABLE = "GRANARY_CONFIG";

    /**
     * The unexpected token in a message of the parser, which may be an unquoted secret; the message
     * keeps its position.
     */
    private static final Pattern UNEXPECTED_TOKEN =
            Pattern.compile("Unexpected '.*', (?=expected)", Pattern.DOTALL);

    private final Optional<TomlTable> values;

    private ConfigFile(Optional<TomlTable> values) {
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
                : new ConfigFile(Optional.empty());
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
        Object value = values.map(table -> table.value(setting.key())).orElse(null);
        if (value == null) {
            return Optional.empty();
        }
        String place = values.get().file() + ": " + setting.key();
        if (setting.inFile().stream().noneMatch(type -> type.isInstance(value))) {
            throw setting.mistake(shown(value), place);
        }
        if (!(value instanceof List<?> list)) {
            return Optional.of(setting.parse(value.toString(), place));
        }
        for (Object each : list) {
            if (!(each instanceof String)) {
                throw setting.mistake(shown(each), place);
            }
        }
        return Optional.of(setting.parse(
                String.join(" ", list.stream().map(Object::toString).toList()), place));
    }

    private static Object shown(Object value) {
        return value instanceof TomlTable || value instanceof List ? "a table or list" : value;
    }

    private static ConfigFile read(Path file) throws ConfigException {
        TomlTable parsed;
        try {
            parsed = TomlTable.read(file);
        } catch (TomlException e) {
            throw new ConfigException("The configuration file "
                    + UNEXPECTED_TOKEN
                            .matcher(String.valueOf(e.getMessage()))
                            .replaceFirst("Unexpected text, "));
        } catch (IOException e) {
            throw new ConfigException("The configuration file " + file + " cannot be read: "
                    + TomlException.reason(e)
                    + (e instanceof NoSuchFileException
                            ? "; create it, or correct " + FILE_VARIABLE
                            : "")
                    + ".");
        }
        List<String> known = Setting.ALL.stream().<String>map(Setting::key).toList();
        for (String key : parsed.keys()) {
            if (!known.contains(key)) {
                throw new ConfigException("The configuration file " + file
                        + " has the unknown key '" + SafeText.of(key) + "'; known are "
                        + String.join(", ", known) + NearestName.hint(key, known) + ".");
            }
        }
        return new ConfigFile(Optional.of(parsed));
    }
}
