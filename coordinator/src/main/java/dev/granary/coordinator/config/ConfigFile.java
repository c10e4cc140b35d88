package dev.granary.coordinator.config;

import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseResult;
import org.tomlj.TomlTable;

/** The configuration file, parsed and checked: unknown keys are mistakes, not ignored. */
final class ConfigFile {
    private static final String NAMED_BY = "GRANARY_CONFIG";

    /** What the parser met may be a secret without quotation marks; where it is, is said. */
    private static final Pattern UNEXPECTED = Pattern.compile("Unexpected '.*', (?=expected)", Pattern.DOTALL);

    private final String place;
    private final TomlParseResult values;

    private ConfigFile(String place, TomlParseResult values) {
        this.place = place;
        this.values = values;
    }

    /** The file that the environment names, or the one at the usual place, or nothing. */
    static ConfigFile find(Map<String, String> environment) throws ConfigException {
        String named = environment.get(NAMED_BY);
        if (named != null && !named.isBlank()) {
            return read(path(named, NAMED_BY));
        }
        Optional<Path> usual = homeOf(environment, "XDG_CONFIG_HOME", ".config").map(home -> home.resolve("granary").resolve("config.toml"));
        return usual.isPresent() && Files.exists(usual.get()) ? read(usual.get()) : new ConfigFile("nowhere", Toml.parse(""));
    }

    /**
     * The directory that {@code variable} names, if it is absolute (the XDG Base Directory Specification ignores all others), else {@code fallback} in the user's home; empty where
     * the user has none.
     */
    static Optional<Path> homeOf(Map<String, String> environment, String variable, String fallback) throws ConfigException {
        String named = environment.get(variable);
        if (named != null && !named.isBlank()) {
            Path home = path(named, variable);
            if (home.isAbsolute()) {
                return Optional.of(home);
            }
        }
        String home = environment.get("HOME");
        if (home == null || home.isBlank() || !path(home, "HOME").isAbsolute()) {
            home = System.getProperty("user.home", ""); // "?" where the system does not know
        }
        Path known = path(home, "HOME");
        return known.isAbsolute() ? Optional.of(known.resolve(fallback)) : Optional.empty();
    }

    private static Path path(String text, String variable) throws ConfigException {
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new ConfigException("The environment variable " + variable + " is no path: " + e.getReason() + ".");
        }
    }

    /** The value of a setting, or null where the file does not have it. */
    <T> @Nullable T value(Setting<T> setting) throws ConfigException {
        Object value = values.get(List.of(setting.key())); // as a text it would be parsed, for its dots
        if (value == null) {
            return null;
        }
        if (setting.inFile().stream().noneMatch(type -> type.isInstance(value))) {
            throw setting.mistake(value instanceof TomlTable || value instanceof TomlArray ? "a table or list" : value, place + ": " + setting.key());
        }
        return setting.parse(value instanceof TomlArray list ? joined(list, setting) : value.toString(), place + ": " + setting.key());
    }

    /** The texts of a list, as one. */
    private String joined(TomlArray list, Setting<?> setting) throws ConfigException {
        List<Object> all = list.toList();
        for (Object one : all) {
            if (!(one instanceof String)) {
                throw setting.mistake(one instanceof TomlTable || one instanceof TomlArray ? "a table or list" : one, place + ": " + setting.key());
            }
        }
        return String.join(" ", all.stream().map(Object::toString).toList());
    }

    private static ConfigFile read(Path file) throws ConfigException {
        TomlParseResult parsed;
        try {
            parsed = TomlFile.read(file);
        } catch (TomlException e) {
            throw new ConfigException("The configuration file " + file + ":" + e.line() + ":" + e.column() + " is not TOML: "
                    + UNEXPECTED.matcher(e.getMessage()).replaceFirst("Unexpected text, ") + ".");
        } catch (IOException e) {
            throw new ConfigException("The configuration file " + file + " cannot be read: " + reason(e) + ".");
        }
        for (String key : parsed.keySet()) {
            if (Setting.ALL.stream().noneMatch(setting -> setting.key().equals(key))) {
                throw new ConfigException("The configuration file " + file + " has the unknown key '" + SafeText.of(key) + "'; known are "
                        + String.join(", ", Setting.ALL.stream().map(Setting::key).toList()) + ".");
            }
        }
        return new ConfigFile(file.toString(), parsed);
    }

    private static String reason(IOException e) {
        return switch (e) {
            case NoSuchFileException _ -> "there is no such file; create it, or correct " + NAMED_BY;
            case CharacterCodingException _ -> "it is not UTF-8 text";
            default -> String.valueOf(e.getMessage());
        };
    }
}
