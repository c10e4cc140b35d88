package dev.granary.plans.file;

import dev.granary.coordinator.toml.SafeText;
import dev.granary.coordinator.toml.TomlException;
import dev.granary.coordinator.toml.TomlTable;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Reader of the table {@code [space]} of a plan file. A text such as {@code "$tile"} in the rest of
 * the file stands for the value of a parameter.
 */
final class PlanSpaceReader {
    private static final Set<String> SPACE_KEYS = Set.of("parameter", "where");

    private final TomlTable top;
    // the values as the file has them, by the name of their parameter and their text
    private final Map<String, Map<String, Object>> values = new LinkedHashMap<>();

    PlanSpaceReader(TomlTable top) {
        this.top = top;
    }

    PlanSpace space() throws TomlException {
        TomlTable space = top.table(PlanFile.SPACE, "[space]")
                .orElseThrow(() -> new TomlException(top.file()
                        + ": there is no table [space] with the parameters of the plans."));
        space.checkKeys(SPACE_KEYS, "a space");
        PlanSpace.Builder builder = PlanSpace.of(new PlanFile(top).nest());
        TomlTable parameters = space.table("parameter", "[space.parameter]")
                .orElseThrow(() -> space.error(
                        "where", "the space has no table [space.parameter] with their values"));
        for (String name : parameters.keys()) {
            Map<String, Object> texts = texts(parameters, name);
            values.put(name, texts);
            parameters.checked(
                    name, () -> builder.parameter(name, texts.keySet().toArray()));
        }
        checkUses();
        for (String constraint : space.texts("where")) {
            space.checked("where", () -> builder.where(constraint));
        }
        return top.checked(PlanFile.SPACE, () -> builder.plans(this::plan));
    }

    /** Returns the values of a parameter by their texts. */
    private static Map<String, Object> texts(TomlTable parameters, String name)
            throws TomlException {
        Map<String, Object> texts = new LinkedHashMap<>();
        if (!(parameters.value(name) instanceof List<?> array)) {
            throw parameters.error(
                    name, name + " must be a list of values, such as " + name + " = [8, 16]");
        }
        for (Object value : array) {
            if (!(value instanceof Long
                    || value instanceof Boolean
                    || value instanceof String
                    || value instanceof List)) {
                throw parameters.error(
                        name, "a value must be a whole number, true, false, a text or a list");
            }
            if (texts.put(text(value), value) != null) {
                throw parameters.error(name, name + " has two values that are equal");
            }
        }
        return texts;
    }

    private static String text(Object value) {
        return value instanceof List<?> list
                ? list.stream().map(PlanSpaceReader::text).collect(Collectors.joining(" "))
                : String.valueOf(value);
    }

    /** Checks that each {@code "$name"} is a parameter, and that each parameter is used. */
    private void checkUses() throws TomlException {
        Set<String> used = new LinkedHashSet<>();
        top.keys().stream()
                .filter(key -> !key.equals(PlanFile.SPACE))
                .forEach(key -> collect(Objects.requireNonNull(top.value(key)), used));
        for (String name : used) {
            if (!values.containsKey(name)) {
                throw top.error(
                        PlanFile.SPACE,
                        "\"$" + SafeText.ofFile(name) + "\" is no parameter of the space");
            }
        }
        for (String name : values.keySet()) {
            if (!used.contains(name)) {
                throw top.error(
                        PlanFile.SPACE,
                        "the parameter " + SafeText.ofFile(name) + " is not used; write \"$"
                                + SafeText.ofFile(name) + "\" in place of a value");
            }
        }
    }

    private static void collect(Object value, Set<String> used) {
        switch (value) {
            case List<?> list -> list.forEach(each -> collect(each, used));
            case TomlTable table ->
                table.keys()
                        .forEach(key -> collect(Objects.requireNonNull(table.value(key)), used));
            default -> TomlTable.parameter(value).ifPresent(used::add);
        }
    }

    /** Returns the plan of the file with these values. */
    private KernelPlan plan(PlanParameters point) {
        Map<String, Object> chosen = new LinkedHashMap<>();
        values.forEach((name, texts) ->
                chosen.put(name, Objects.requireNonNull(texts.get(point.text(name)))));
        try {
            return new PlanFile(top.with(chosen)).plan();
        } catch (TomlException e) {
            throw new IllegalArgumentException(SafeText.ofFile(String.valueOf(e.getMessage())), e);
        }
    }
}
