package dev.granary.wrap;

import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.toml.NearestName;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A driver, compiler or framework that keeps compiled kernels in a directory: where that is, and
 * which files machines can share. Immutable.
 *
 * @param name the name, such as {@code pocl}
 * @param variables the environment variables that choose the directory; all are set to it
 * @param below the path of the directory below the value of its variable, often empty
 * @param standard the directory without the variable, with {@code ${NAME}} for other variables;
 *     empty if the tool keeps nothing then
 * @param hardware the hardware that its files depend on: {@code processor}, {@code gpu}
 * @param libraries the names of shared libraries whose versions are part of the scope, in which
 *     {@code *} stands for any characters
 * @param packages the Python packages whose versions are part of the scope
 * @param group the paths of directories that are shared as a whole; empty: each file by itself
 * @param isLocated whether its files name their own places, and fit no other directory
 * @param isRewritten whether the tool changes its files: then each content is an entry
 * @param excluded the names of files that are not shared, such as times of the last use
 * @param switches variables that make the tool use the directory, unless they are set
 */
record Tool(
        String name,
        List<String> variables,
        String below,
        String standard,
        List<String> hardware,
        List<String> libraries,
        List<String> packages,
        Optional<Pattern> group,
        boolean isLocated,
        boolean isRewritten,
        Pattern excluded,
        Map<String, String> switches) {
    private static final Pattern VARIABLE = Pattern.compile("\\$\\{(\\w+)}");
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9._-]{0,39}");

    /** The tools that are known, in the order of the documentation. */
    static List<Tool> known() {
        Properties all = new Properties();
        try (InputStream in = Tool.class.getResourceAsStream("tools.properties")) {
            all.load(Objects.requireNonNull(in));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return words(all.getProperty("tools")).stream()
                .map(name -> of(name, key -> all.getProperty(name + "." + key, "")))
                .toList();
    }

    /** Returns the tool with this name. */
    static Tool named(String name) throws ConfigException {
        List<Tool> known = known();
        return known.stream()
                .filter(tool -> tool.name.equals(name))
                .findFirst()
                .orElseThrow(() -> new ConfigException("There is no tool " + name
                        + NearestName.hint(name, known.stream().map(Tool::name).toList())
                        + "; --dir NAME=PATH shares the directory of any program."));
    }

    /** Returns the tool with this name, or one of which only the directory is known. */
    static Tool ofDirectory(String name) throws ConfigException {
        if (!NAME.matcher(name).matches()) {
            throw new ConfigException("A name in --dir NAME=PATH has 1 to 40 lower-case letters,"
                    + " digits, dots, dashes and underscores, and begins with a letter: " + name);
        }
        return known().stream()
                .filter(tool -> tool.name.equals(name))
                .findFirst()
                .orElseGet(() -> of(name, key -> key.equals("hardware") ? "processor gpu" : ""));
    }

    private static Tool of(String name, Function<String, String> property) {
        Map<String, String> switches = new TreeMap<>();
        words(property.apply("switches")).forEach(each -> {
            String[] parts = each.split("=", 2);
            switches.put(parts[0], parts[1]);
        });
        String excluded = property.apply("excluded");
        return new Tool(
                name,
                words(property.apply("variables")),
                property.apply("below"),
                property.apply("directory"),
                words(property.apply("hardware")),
                words(property.apply("libraries")),
                words(property.apply("packages")),
                Optional.of(property.apply("group"))
                        .filter(text -> !text.isEmpty())
                        .map(Pattern::compile),
                property.apply("located").equals("true"),
                property.apply("rewritten").equals("true"),
                Pattern.compile(excluded.isEmpty() ? "(?!)" : excluded),
                switches);
    }

    private static List<String> words(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split(" +"));
    }

    /**
     * Returns the directory that the tool uses in an environment.
     *
     * @throws ConfigException if it is unknown
     */
    Path directory(Map<String, String> environment) throws ConfigException {
        for (String variable : variables) {
            String value = environment.getOrDefault(variable, "");
            if (!value.isBlank()) {
                return path(value + "/" + below);
            }
        }
        Matcher matcher = VARIABLE.matcher(standard);
        StringBuilder text = new StringBuilder();
        List<String> unset = new ArrayList<>(standard.isEmpty() ? variables : List.of());
        while (matcher.find()) {
            String variable = matcher.group(1);
            String value = environment.getOrDefault(variable, "");
            if (value.isBlank() && variable.equals("XDG_CACHE_HOME")) {
                String home = environment.getOrDefault("HOME", "");
                value = home.isBlank() ? "" : home + "/.cache";
            }
            if (value.isBlank()) {
                unset.add(variable);
            }
            matcher.appendReplacement(text, Matcher.quoteReplacement(value));
        }
        if (!unset.isEmpty() || standard.isEmpty()) {
            throw new ConfigException("The directory of " + name + " is unknown: "
                    + String.join(", ", unset) + " is not set; give --dir " + name + "=PATH.");
        }
        return path(matcher.appendTail(text).toString());
    }

    /**
     * Returns the directory that a text names.
     *
     * @throws ConfigException if it names none, or the root, as with an unset variable of a shell
     */
    Path path(String text) throws ConfigException {
        try {
            Path path = Path.of(text).toAbsolutePath().normalize();
            if (!text.isBlank() && path.getFileName() != null) {
                return path;
            }
        } catch (InvalidPathException e) {
            // as below
        }
        throw new ConfigException(
                "The directory of " + name + " is empty, the root, or not a path: '" + text
                        + "'; give --dir " + name + "=PATH.");
    }

    /** Makes a program use {@code directory}, by variables of its environment. */
    void select(Path directory, Map<String, String> environment) {
        Path value = directory;
        for (int i = 0; i < (below.isEmpty() ? 0 : Path.of(below).getNameCount()); i++) {
            value = Objects.requireNonNullElse(value.getParent(), value);
        }
        if (value.resolve(below).equals(directory)) {
            String text = value.toString();
            variables.forEach(variable -> environment.put(variable, text));
        }
        switches.forEach(environment::putIfAbsent);
    }
}
