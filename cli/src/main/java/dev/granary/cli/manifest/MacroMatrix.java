package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.coordinator.toml.TomlTable;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The macros of {@code define}, each with one value or a list of values. Each combination of the
 * values in lists is a variant of the program. Immutable.
 *
 * @param macros the values by macro, in the order of the file
 */
record MacroMatrix(Map<String, Macro> macros) {
    static final MacroMatrix NONE = new MacroMatrix(Map.of());

    private static final String KEY = "define";
    private static final String EXAMPLE = "{ TILE = [8, 16], USE_HALF = true }";
    private static final int MAX_MACROS = 100;
    private static final int MAX_VALUE_CHARACTERS = 200;
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,99}");
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}\\u2028\\u2029]");

    /** Copies the map, in its order. */
    MacroMatrix {
        macros = Collections.unmodifiableMap(new LinkedHashMap<>(macros));
    }

    /**
     * The values of a macro.
     *
     * @param values the build options by the value's text in names; none if it is not defined
     * @param isList true if they are written as a list: the value then is part of the name of a
     *     variant
     */
    record Macro(Map<String, List<String>> values, boolean isList) {}

    /**
     * A combination of values.
     *
     * @param suffix the end of the program's name, such as {@code -TILE=8-TYPE=float}; empty if no
     *     macro has a list
     * @param options the build options that define the macros
     */
    record Variant(String suffix, List<String> options) {}

    /** Returns the macros of {@code define} in a table. */
    static MacroMatrix of(TomlTable table) throws TomlException {
        Optional<TomlTable> define = table.table(KEY, EXAMPLE);
        if (define.isEmpty()) {
            return NONE;
        }
        Map<String, Macro> macros = new LinkedHashMap<>();
        for (String name : define.get().keys()) {
            if (!NAME.matcher(name).matches()) {
                throw define.get()
                        .error(
                                name,
                                "'" + TomlFile.harmless(name) + "' is not the name of a macro;"
                                        + " write other definitions in options");
            }
            macros.put(name, macro(define.get(), name));
            if (macros.size() > MAX_MACROS) {
                throw define.get().error(name, "define has more than " + MAX_MACROS + " macros");
            }
        }
        return new MacroMatrix(macros);
    }

    private static Macro macro(TomlTable define, String name) throws TomlException {
        List<?> items = define.value(name) instanceof List<?> list
                ? list
                : Collections.singletonList(define.value(name));
        if (items.isEmpty()) {
            throw define.error(
                    name, name + " has no value; remove it, or name one: " + name + " = [8]");
        }
        Map<String, List<String>> values = new LinkedHashMap<>();
        for (Object item : items) {
            String text = text(define, name, item);
            List<String> options = item instanceof Boolean isDefined
                    ? isDefined ? List.of("-D" + name) : List.of()
                    : List.of("-D" + name + "=" + text);
            if (values.put(text, options) != null) {
                throw define.error(
                        name, name + " has the value '" + TomlFile.harmless(text) + "' twice");
            }
        }
        return new Macro(values, define.value(name) instanceof List<?>);
    }

    private static String text(TomlTable define, String name, @Nullable Object value)
            throws TomlException {
        return switch (value) {
            case Boolean isDefined -> isDefined.toString();
            case Long number -> number.toString();
            case String text -> {
                if (text.length() > MAX_VALUE_CHARACTERS
                        || CONTROL.matcher(text).find()) {
                    throw define.error(
                            name,
                            "a value of " + name + " must be one line of at most "
                                    + MAX_VALUE_CHARACTERS + " characters");
                }
                yield text;
            }
            case null, default ->
                throw define.error(
                        name,
                        name + " must be a string, a whole number, true, false, or a list of"
                                + " these; write a fraction as a string, such as \"0.5f\"");
        };
    }

    /** Returns these macros and those of {@code defaults} that are not among them. */
    MacroMatrix over(MacroMatrix defaults) {
        Map<String, Macro> merged = new LinkedHashMap<>(defaults.macros);
        merged.putAll(macros);
        return new MacroMatrix(merged);
    }

    /** Returns true if a macro has a list of values. */
    boolean hasLists() {
        return macros.values().stream().anyMatch(Macro::isList);
    }

    /** Returns the largest number of characters that a variant adds to a name. */
    int longestSuffix() {
        int longest = 0;
        for (Map.Entry<String, Macro> macro : macros.entrySet()) {
            if (macro.getValue().isList()) {
                longest += "-=".length()
                        + macro.getKey().length()
                        + macro.getValue().values().keySet().stream()
                                .mapToInt(String::length)
                                .max()
                                .orElse(0);
            }
        }
        return longest;
    }

    /** Returns the number of variants, at most {@code Integer.MAX_VALUE}. */
    long size() {
        long size = 1;
        for (Macro macro : macros.values()) {
            size = Math.min(Integer.MAX_VALUE, size * macro.values().size());
        }
        return size;
    }

    /**
     * Returns all variants; the values of the last macro change fastest. The caller has checked
     * {@link #size}.
     */
    List<Variant> variants() {
        List<Variant> variants = List.of(new Variant("", List.of()));
        for (Map.Entry<String, Macro> macro : macros.entrySet()) {
            List<Variant> longer = new ArrayList<>();
            for (Variant variant : variants) {
                macro.getValue().values().forEach((text, more) -> {
                    List<String> options = new ArrayList<>(variant.options());
                    options.addAll(more);
                    longer.add(new Variant(
                            macro.getValue().isList()
                                    ? variant.suffix() + "-" + macro.getKey() + "=" + text
                                    : variant.suffix(),
                            options));
                });
            }
            variants = longer;
        }
        return variants;
    }
}
