package dev.granary.cli.manifest;

import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The macros of {@code define}, each with one value or a list of values. Each combination of the
 * values in lists is a variant of the program.
 *
 * @param macros a variant for each value, by macro in the order of the file
 */
record MacroMatrix(Map<String, List<Variant>> macros) {
    private static final String KEY = "define";
    private static final String EXAMPLE = "{ TILE = [8, 16], USE_HALF = true }";
    private static final int MAX_VALUE_CHARACTERS = 200;
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,99}");
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}\\u2028\\u2029]");

    /**
     * A combination of values.
     *
     * @param suffix the end of the program's name, such as {@code -TILE=8-TYPE=float}; empty if no
     *     macro has a list
     */
    record Variant(String suffix, List<String> options) {}

    /** Returns the macros of tables, of which later ones replace the values of earlier ones. */
    static MacroMatrix of(List<TomlTable> tables) throws TomlException {
        Map<String, List<Variant>> macros = new LinkedHashMap<>();
        for (TomlTable table : tables) {
            Optional<TomlTable> define = table.table(KEY, EXAMPLE);
            for (String name : define.map(TomlTable::keys).orElse(List.of())) {
                if (!NAME.matcher(name).matches()) {
                    throw define.get()
                            .error(
                                    name,
                                    "'" + SafeText.ofFile(name)
                                            + "' is not the name of a macro; write"
                                            + " other definitions in options");
                }
                macros.put(name, variants(define.get(), name));
            }
        }
        return new MacroMatrix(macros);
    }

    /** Returns a variant for each value of a macro; only those of a list are in names. */
    private static List<Variant> variants(TomlTable define, String name) throws TomlException {
        boolean isList = define.value(name) instanceof List<?>;
        List<?> items = define.value(name) instanceof List<?> list
                ? list
                : Collections.singletonList(define.value(name));
        if (items.isEmpty()) {
            throw define.error(
                    name, name + " has no value; remove it, or name one: " + name + " = [8]");
        }
        Set<String> texts = new LinkedHashSet<>();
        List<Variant> variants = new ArrayList<>();
        for (Object item : items) {
            String text = text(define, name, item);
            if (!texts.add(text)) {
                throw define.error(
                        name, name + " has the value '" + SafeText.ofFile(text) + "' twice");
            }
            List<String> options = item instanceof Boolean isDefined
                    ? isDefined ? List.of("-D" + name) : List.of()
                    : List.of("-D" + name + "=" + text);
            variants.add(new Variant(isList ? "-" + name + "=" + text : "", options));
        }
        return variants;
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

    /** Returns the number of variants, at most {@code Integer.MAX_VALUE}. */
    long size() {
        long size = 1;
        for (List<Variant> variants : macros.values()) {
            size = Math.min(Integer.MAX_VALUE, size * variants.size());
        }
        return size;
    }

    /** Returns the {@link #size} variants; the values of the last macro change fastest. */
    List<Variant> variants() {
        List<Variant> all = List.of(new Variant("", List.of()));
        for (List<Variant> values : macros.values()) {
            List<Variant> longer = new ArrayList<>();
            for (Variant variant : all) {
                for (Variant value : values) {
                    List<String> options = new ArrayList<>(variant.options());
                    options.addAll(value.options());
                    longer.add(new Variant(variant.suffix() + value.suffix(), options));
                }
            }
            all = longer;
        }
        return all;
    }
}
