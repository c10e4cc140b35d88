package dev.granary.cli.plan;

import dev.granary.cli.manifest.KernelManifestException;
import dev.granary.cli.manifest.ManifestTable;
import dev.granary.coordinator.toml.TomlFile;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;

import org.tomlj.TomlArray;
import org.tomlj.TomlTable;

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

    private final ManifestTable top;
    // the values as the file has them, by the name of their parameter and their text
    private final Map<String, Map<String, Object>> values = new LinkedHashMap<>();

    private PlanSpaceReader(ManifestTable top) {
        this.top = top;
    }

    static PlanSpace read(ManifestTable top) throws KernelManifestException {
        return new PlanSpaceReader(top).space();
    }

    private PlanSpace space() throws KernelManifestException {
        ManifestTable space = top.table(PlanFile.SPACE, "[space]")
                .orElseThrow(() -> new KernelManifestException(top.file()
                        + ": there is no table [space] with the parameters of the plans."));
        space.checkKeys(SPACE_KEYS, "a space");
        PlanSpace.Builder builder = PlanSpace.of(new PlanFile(top).nest());
        ManifestTable parameters = space.table("parameter", "[space.parameter]")
                .orElseThrow(() -> space.error(
                        "where", "the space has no table [space.parameter] with their values"));
        for (String name : parameters.keys()) {
            Map<String, Object> texts = texts(parameters, name);
            values.put(name, texts);
            checked(
                    parameters,
                    name,
                    () -> builder.parameter(name, texts.keySet().toArray()));
        }
        checkUses();
        for (String constraint : space.texts("where")) {
            checked(space, "where", () -> builder.where(constraint));
        }
        try {
            return builder.plans(this::plan);
        } catch (IllegalArgumentException e) {
            throw top.error(PlanFile.SPACE, message(e));
        }
    }

    /** Returns the values of a parameter by their texts. */
    private static Map<String, Object> texts(ManifestTable parameters, String name)
            throws KernelManifestException {
        Map<String, Object> texts = new LinkedHashMap<>();
        if (!(parameters.value(name) instanceof TomlArray array)) {
            throw parameters.error(
                    name, name + " must be a list of values, such as " + name + " = [8, 16]");
        }
        for (Object value : array.toList()) {
            if (!(value instanceof Long
                    || value instanceof Boolean
                    || value instanceof String
                    || value instanceof TomlArray)) {
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
        return value instanceof TomlArray list
                ? list.toList().stream().map(PlanSpaceReader::text).collect(Collectors.joining(" "))
                : String.valueOf(value);
    }

    /** Checks that each {@code "$name"} is a parameter, and that each parameter is used. */
    private void checkUses() throws KernelManifestException {
        Set<String> used = new LinkedHashSet<>();
        for (String key : top.keys()) {
            if (!key.equals(PlanFile.SPACE)) {
                collect(Objects.requireNonNull(top.value(key)), used);
            }
        }
        for (String name : used) {
            if (!values.containsKey(name)) {
                throw top.error(
                        PlanFile.SPACE,
                        "\"$" + TomlFile.harmless(name) + "\" is no parameter of the space");
            }
        }
        for (String name : values.keySet()) {
            if (!used.contains(name)) {
                throw top.error(
                        PlanFile.SPACE,
                        "the parameter " + TomlFile.harmless(name) + " is not used; write \"$"
                                + TomlFile.harmless(name) + "\" in place of a value");
            }
        }
    }

    private static void collect(Object value, Set<String> used) {
        switch (value) {
            case TomlArray list -> list.toList().forEach(each -> collect(each, used));
            case TomlTable table ->
                table.keySet()
                        .forEach(key ->
                                collect(Objects.requireNonNull(table.get(List.of(key))), used));
            default -> ManifestTable.parameter(value).ifPresent(used::add);
        }
    }

    /** Returns the plan of the file with these values. */
    private KernelPlan plan(PlanParameters point) {
        Map<String, Object> chosen = new LinkedHashMap<>();
        point.values()
                .forEach((name, text) -> chosen.put(
                        name,
                        Objects.requireNonNull(
                                Objects.requireNonNull(values.get(name)).get(text))));
        try {
            return new PlanFile(new ManifestTable(top.file(), top.values(), chosen)).plan();
        } catch (KernelManifestException e) {
            throw new IllegalArgumentException(message(e), e);
        }
    }

    private static void checked(ManifestTable table, String key, Runnable step)
            throws KernelManifestException {
        try {
            step.run();
        } catch (IllegalArgumentException e) {
            throw table.error(key, message(e));
        }
    }

    private static String message(Exception e) {
        return TomlFile.harmless(String.valueOf(e.getMessage()));
    }
}
