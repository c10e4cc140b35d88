package dev.granary.coordinator.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.tomlj.Toml;
import org.tomlj.TomlParseResult;

/** The configuration file, parsed and checked: unknown keys are mistakes, not ignored. */
final class ConfigFile {
    private static final String NAMED_BY = "GRANARY_CONFIG";

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
            return read(Path.of(named));
        }
        Path usual = homeOf(environment, "XDG_CONFIG_HOME", ".config", NAMED_BY).resolve("granary").resolve("config.toml");
        return Files.exists(usual) ? read(usual) : new ConfigFile("nowhere", Toml.parse(""));
    }

    /** The directory that {@code variable} names, else {@code fallback} in the user's home. */
    static Path homeOf(Map<String, String> environment, String variable, String fallback, String remedy) throws ConfigException {
        String named = environment.get(variable);
        if (named != null && !named.isBlank()) {
            return Path.of(named);
        }
        String home = environment.get("HOME");
        String known = home != null && !home.isBlank() ? home : System.getProperty("user.home", "");
        if (known.isBlank() || known.equals("?")) {
            throw new ConfigException("This user has no home directory; set " + remedy + " or " + variable + ".");
        }
        return Path.of(known, fallback);
    }

    /** The value of a setting, or null where the file does not have it. */
    <T> @Nullable T value(Setting<T> setting) throws ConfigException {
        Object value = values.get(setting.key());
        if (value == null) {
            return null;
        }
        if (!(value instanceof String) && !(value instanceof Long)) {
            throw new ConfigException(place + ": " + setting.key() + " should be " + setting.expected() + ".");
        }
        return setting.parse(value.toString(), place + ": " + setting.key());
    }

    private static ConfigFile read(Path file) throws ConfigException {
        TomlParseResult parsed;
        try {
            parsed = Toml.parse(file);
        } catch (IOException e) {
            throw new ConfigException("The configuration file " + file + " cannot be read: " + e.getMessage() + ".");
        }
        if (parsed.hasErrors()) {
            throw new ConfigException("The configuration file " + file + " is not TOML: " + parsed.errors().get(0) + ".");
        }
        for (String key : parsed.keySet()) {
            if (Setting.ALL.stream().noneMatch(setting -> setting.key().equals(key))) {
                throw new ConfigException("The configuration file " + file + " has the unknown key '" + key + "'; known are "
                        + String.join(", ", Setting.ALL.stream().map(Setting::key).toList()) + ".");
            }
        }
        return new ConfigFile(file.toString(), parsed);
    }
}
