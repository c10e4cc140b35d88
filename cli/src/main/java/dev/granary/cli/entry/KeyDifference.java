package dev.granary.cli.entry;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A field in which two keys differ, with its values in each of them.
 *
 * @param field the name of the field; for a header or a variable, with the path or the variable
 * @param a the values in the first key, in order; none if it lacks the field
 * @param b the values in the second key
 */
record KeyDifference(String field, List<String> a, List<String> b) {
    private static final int MAX_CHARACTERS = 43;
    private static final int MAX_FIELDS = 30;

    /** Number of target fields, which come first in every id and are shown separately. */
    private static final int TARGET_FIELDS = 4;

    private static final String NONE = "-";

    /** Characters that a cell of a table has at most. */
    private static final int WIDTH = 26;

    private static final int CONTEXT = 8;

    private static final String SOURCE = "source";
    private static final String SPIRV = "spirv";

    /** Names of fields whose value belongs to the field before. */
    private static final Set<String> VALUES_OF_NAMES = Set.of("sha256", "value");

    /** Returns the differences, those of the first key before those of the second. */
    static List<KeyDifference> between(Id a, Id b) {
        Map<String, List<String>> first = values(a);
        Map<String, List<String>> second = values(b);
        Set<String> names = new LinkedHashSet<>(first.keySet());
        names.addAll(second.keySet());
        return names.stream()
                .map(name -> new KeyDifference(
                        name,
                        first.getOrDefault(name, List.of()),
                        second.getOrDefault(name, List.of())))
                .filter(each -> !each.a.equals(each.b))
                .toList();
    }

    private static Map<String, List<String>> values(Id id) {
        Map<String, List<String>> values = new LinkedHashMap<>();
        List<Id.Field> fields = id.fields();
        for (int i = 0; i < fields.size(); i++) {
            String name = fields.get(i).name();
            String value = value(fields.get(i));
            if (i + 1 < fields.size()
                    && VALUES_OF_NAMES.contains(fields.get(i + 1).name())) {
                name += " " + value;
                value = value(fields.get(++i));
            }
            values.computeIfAbsent(name, _ -> new ArrayList<>()).add(value);
        }
        return values;
    }

    /** Adds a table: in the text words around the first difference, in JSON all values. */
    static void add(Id first, Id second, String a, String b, Report report) {
        report.table("differences", between(first, second))
                .column("field", KeyDifference::field)
                .column("<" + a + ":a", each -> shortened(each.a, each.b))
                .column("<" + b + ":b", each -> shortened(each.b, each.a));
    }

    private static Report.Shown shortened(List<String> values, List<String> others) {
        List<String> own = without(values, others);
        List<String> foreign = without(others, values);
        boolean isOrder = own.isEmpty() && foreign.isEmpty();
        String text = own.isEmpty() && !isOrder
                ? NONE
                : around(
                        String.join("  ", isOrder ? values : own),
                        String.join("  ", isOrder ? others : foreign));
        return new Report.Shown(values, text);
    }

    /** Returns the values without those that the others have, each as often as there. */
    private static List<String> without(List<String> values, List<String> others) {
        List<String> remaining = new ArrayList<>(values);
        others.forEach(remaining::remove);
        return remaining;
    }

    /** Returns the part of a text in which it first differs from another, with its line. */
    private static String around(String text, String other) {
        int mismatch = Arrays.mismatch(text.toCharArray(), other.toCharArray());
        int difference = mismatch < 0 ? text.length() : mismatch;
        int lineStart = text.lastIndexOf('\n', difference - 1) + 1;
        int lineEnd = text.indexOf('\n', difference);
        int start = difference - lineStart > WIDTH / 2 ? difference - CONTEXT : lineStart;
        if (start > lineStart && Character.isLowSurrogate(text.charAt(start))) {
            start--;
        }
        boolean hasLines = text.strip().indexOf('\n') >= 0 || other.strip().indexOf('\n') >= 0;
        long line = text.substring(0, lineStart).lines().count() + 1;
        String place = (hasLines ? "line " + line + ": " : "") + (start > lineStart ? "..." : "");
        String shown = text.substring(start, lineEnd < 0 ? text.length() : lineEnd);
        return place + Units.cut(shown, WIDTH - place.length());
    }

    /**
     * Returns the entry among the most recently used ones of a tier. An entry is of the same kernel
     * if it has the same source or SPIR-V, or if the source of {@code id} names one of its kernels.
     * Of equally near ones, the most recently used is returned.
     */
    static Optional<Id> nearest(Place place, Id id) throws IOException {
        List<Listed> all = Place.entries(place.catalog);
        List<String> sources = sources(id);
        Optional<Id> nearest = Optional.empty();
        int least = Integer.MAX_VALUE;
        for (Listed listed : all.subList(0, Math.min(place.maxSearched(), all.size()))) {
            try (Arena memory = Arena.ofConfined()) {
                if (place.catalog.read(listed, memory) instanceof LoadResult.Hit(Entry entry)
                        && !entry.id().equals(id)
                        && isOfSameKernel(entry, sources)) {
                    int distance = between(id, entry.id()).stream()
                            .mapToInt(KeyDifference::distance)
                            .sum();
                    nearest = distance < least ? Optional.of(entry.id()) : nearest;
                    least = Math.min(distance, least);
                }
            }
        }
        return nearest;
    }

    /**
     * Returns the number of values that only one key has, 1 if only their order differs. A source
     * adds 1, so that of otherwise equally near entries one of the same source is nearer.
     */
    private int distance() {
        int size = without(a, b).size() + without(b, a).size();
        return Math.max(1, size) + (field.equals(SOURCE) ? 1 : 0);
    }

    private static boolean isOfSameKernel(Entry entry, List<String> sources) {
        if (sources.isEmpty()) {
            return false;
        }
        if (sources(entry.id()).equals(sources)) {
            return true;
        }
        List<String> kernels = entry.metadata().map(EntryMetadata::kernels).orElse(List.of());
        Pattern names = Pattern.compile(kernels.stream()
                .map(Pattern::quote)
                .collect(Collectors.joining("|", "\\b(", ")\\b")));
        return !kernels.isEmpty()
                && sources.stream().anyMatch(text -> names.matcher(text).find());
    }

    private static List<String> sources(Id id) {
        return id.fields().stream()
                .filter(field -> field.name().equals(SOURCE) || field.name().equals(SPIRV))
                .map(Id.Field::text)
                .toList();
    }

    /** Returns the value as text; digests and values that are not UTF-8 text as hex digits. */
    private static String value(Id.Field field) {
        byte[] value = field.value();
        boolean isText = !field.name().equals("sha256")
                && Arrays.equals(field.text().getBytes(UTF_8), value);
        return isText ? field.text() : HexFormat.of().formatHex(value);
    }

    /** Adds all fields in full. The lines of a longer value follow its name, indented. */
    static void addWholeKey(Id id, Report report) {
        addData(id, report);
        for (Id.Field field : id.fields()) {
            List<String> lines = value(field).replace("\t", "    ").lines().toList();
            if (lines.size() <= 1) {
                report.line((field.name() + ": " + String.join("", lines)).stripTrailing());
            } else {
                report.line(field.name() + ":");
                lines.forEach(line -> report.line("    " + line));
            }
        }
    }

    /** Adds all fields to JSON, and the short values of the first to the text. */
    static void addKey(Id id, Report report) {
        addData(id, report);
        List<Id.Field> fields = id.fields().subList(TARGET_FIELDS, id.fields().size());
        fields.stream()
                .limit(MAX_FIELDS)
                .forEach(field -> report.text("  " + field.name(), excerpt(field)));
        if (fields.size() > MAX_FIELDS) {
            report.line("  ... and " + (fields.size() - MAX_FIELDS)
                    + " more fields of the key; --key shows all");
        }
    }

    private static void addData(Id id, Report report) {
        for (Id.Field field : id.fields()) {
            report.part("key").data("name", field.name()).data("value", value(field));
        }
    }

    private static String excerpt(Id.Field field) {
        String text = value(field).strip().replaceAll("\\s+", " ");
        String start = Units.cut(text, MAX_CHARACTERS);
        return start.equals(text) ? text : start + " (" + field.value().length + " bytes)";
    }
}
