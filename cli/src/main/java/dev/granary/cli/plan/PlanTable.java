package dev.granary.cli.plan;

import dev.granary.cli.manifest.KernelManifestException;
import dev.granary.cli.manifest.ManifestTable;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.plans.nest.KernelArray.ArrayLayout;
import dev.granary.plans.nest.LoopIndex;

import org.jspecify.annotations.Nullable;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A table of a plan file, with access to the values that plans have. Its exceptions contain file,
 * line and column.
 *
 * @param table the table
 */
record PlanTable(ManifestTable table) {
    /** A step that a value of the file may make invalid. */
    interface Step<T> {
        /** Runs the step. */
        T run() throws KernelManifestException;
    }

    void checkKeys(Set<String> allowedKeys, String owner) throws KernelManifestException {
        table.checkKeys(allowedKeys, owner);
    }

    boolean has(String key) {
        return table.value(key) != null;
    }

    /** Returns true if the key has a text that is not empty. */
    boolean hasText(String key) throws KernelManifestException {
        return !table.textOrEmpty(key).isEmpty();
    }

    List<PlanTable> tables(String key) throws KernelManifestException {
        return table.tables(key, "[[" + key + "]]").stream().map(PlanTable::new).toList();
    }

    String text(String key) throws KernelManifestException {
        String text = table.text(key);
        if (text == null) {
            throw new KernelManifestException(table.file() + ": " + key + " is missing"
                    + table.keys().stream()
                            .findFirst()
                            .map(first -> " in the table of " + position(first))
                            .orElse("")
                    + ".");
        }
        return text;
    }

    private String position(String key) {
        var position = table.position(key);
        return position == null ? "the file" : "line " + position.line();
    }

    LoopIndex index(String key) throws KernelManifestException {
        return LoopIndex.of(text(key));
    }

    LoopIndex[] indices(String key) throws KernelManifestException {
        return table.texts(key).stream().map(LoopIndex::of).toArray(LoopIndex[]::new);
    }

    int number(String key) throws KernelManifestException {
        if (table.value(key) instanceof Long number
                && number >= Integer.MIN_VALUE
                && number <= Integer.MAX_VALUE) {
            return number.intValue();
        }
        throw table.error(key, key + " must be a whole number of 32 bits, such as " + key + " = 4");
    }

    boolean flag(String key, boolean valueIfAbsent) throws KernelManifestException {
        return switch (table.value(key)) {
            case null -> valueIfAbsent;
            case Boolean flag -> flag;
            default -> throw table.error(key, key + " must be true or false");
        };
    }

    /** Returns the value with that text; null if the key is absent. */
    <E> @Nullable E constant(String key, E[] values) throws KernelManifestException {
        String text = table.text(key);
        if (text == null) {
            return null;
        }
        for (E value : values) {
            if (value.toString().equals(text)) {
                return value;
            }
        }
        throw table.error(
                key,
                key + " must be one of "
                        + Arrays.stream(values)
                                .map(Object::toString)
                                .collect(Collectors.joining(", ")));
    }

    /** Returns the layout; null if the key is absent. */
    @Nullable
    ArrayLayout layout(String key) throws KernelManifestException {
        Object value = table.value(key);
        if (value == null) {
            return null;
        }
        if (value instanceof String text) {
            for (ArrayLayout layout : List.of(ArrayLayout.FIRST_MAJOR, ArrayLayout.LAST_MAJOR)) {
                if (layout.toString().equals(text)) {
                    return layout;
                }
            }
            throw table.error(
                    key,
                    key + " must be \"first-major\", \"last-major\" or a list of coefficients");
        }
        List<Long> coefficients = table.numbers(key);
        return checked(
                key,
                () -> ArrayLayout.coefficients(
                        coefficients.stream().mapToLong(Long::longValue).toArray()));
    }

    /** Runs a step, and adds the position of a key to its failure. */
    <T> T checked(String key, Step<T> step) throws KernelManifestException {
        try {
            return step.run();
        } catch (IllegalArgumentException e) {
            throw table.error(key, TomlFile.harmless(String.valueOf(e.getMessage())));
        } catch (ArithmeticException e) {
            throw table.error(
                    key, "a size or a product of sizes is too large; choose a smaller one");
        }
    }
}
