package dev.granary.cli.output;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;

import dev.granary.cache.Sha256;

import org.jspecify.annotations.Nullable;

import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Report of one result, as text, Markdown or one JSON object, so that a command writes each part
 * once. Text is printed as it is added, JSON by {@link #print}.
 *
 * <p>A name in JSON is the label or heading in camel case, or follows it behind a colon:
 * {@code "time:millis"}. Values are printed by their type: numbers, {@link Duration} (milliseconds
 * in JSON), {@link Instant}, {@link Sha256} (16 digits in a text), lists and maps of these,
 * {@link Shown}, and {@link Optional}, which is {@code -} or null if it is empty. Control
 * characters are replaced: they could steer the terminal, and texts may come from other machines.
 */
public final class Report {
    private static final Pattern CONTROL = Pattern.compile("\\p{Cc}");
    private static final Pattern MARKUP = Pattern.compile("[\\\\`*_\\[\\]<>|~&#@!]|:(?=//)");
    private static final int WIDTH = 80;
    private static final int LABEL_WIDTH = 11;

    private final PrintWriter out;
    private final PrintWriter err;
    private final boolean isJson;
    private final JsonObject object = new JsonObject();
    private boolean isMarkdown;
    private @Nullable ReportTable<?> table; // the last one added, not printed yet

    /** Creates a report that prints to {@code out}, and problems to {@code err}. */
    public Report(PrintWriter out, PrintWriter err, boolean isJson) {
        this.out = out;
        this.err = err;
        this.isJson = isJson;
    }

    /** Prints text as Markdown from now on: fields as a list, and tables. */
    public void markdown() {
        isMarkdown = true;
    }

    /** A value that is shown by another text than its type has. */
    public record Shown(Object value, String text) {}

    /** Returns a number of bytes, shown as {@code 1.2 MiB}. */
    public static Shown bytes(long bytes) {
        return new Shown(bytes, Units.bytes(bytes));
    }

    /** Adds a value behind its label, wrapped to 80 columns. */
    public Report field(String label, Object value) {
        data(label, value);
        return text(label, value instanceof Sha256 hash ? hash.hex() : value);
    }

    /** Adds a value, which the text shows in other words. */
    public Report field(String label, Object value, String text) {
        return data(label, value).text(label, text);
    }

    /** Adds a value to the text only, as {@link #field} does. */
    public Report text(String label, Object value) {
        if (isText()) {
            String shown = label.split(":", 2)[0];
            if (isMarkdown) {
                out.println("* " + escaped(shown) + ": " + escaped(text(value)));
            } else {
                wrap(shown, text(value));
            }
        }
        return this;
    }

    /** Adds a value to JSON only. */
    public Report data(String name, Object value) {
        object.add(nameOf(name), json(value));
        return this;
    }

    /** Adds a line to the text only. */
    public Report line(String text) {
        if (isText() && !(isMarkdown && text.isEmpty())) { // tables have blank lines there
            out.println(isMarkdown ? "\n" + escaped(text) : withoutControls(text));
            out.flush();
        }
        return this;
    }

    /** Prints lines on standard error, such as a build log; to the text only. */
    public Report error(String lines) {
        if (isText()) {
            lines.lines().forEach(each -> err.println(withoutControls(each.replace("\t", "    "))));
            err.flush();
        }
        return this;
    }

    /** Adds a count to JSON, and to the text if it is not 0, as in {@code 3 entries removed}. */
    public Report count(String name, long count, String noun, String verb) {
        data(name, count);
        return count == 0 ? this : line(Units.plural(count, noun) + " " + verb);
    }

    /** Adds an array of objects to JSON; each call adds an object, a part of this report. */
    public Report part(String name) {
        Report part = new Report(out, err, isJson);
        isText(); // prints the last table
        array(nameOf(name)).add(part.object);
        return part;
    }

    /**
     * Adds a table, in JSON an array with an object for each row.
     *
     * @param name the name in JSON; empty for a table that is in the text only
     */
    public <R> ReportTable<R> table(String name, Collection<R> rows) {
        isText(); // prints the last table
        ReportTable<R> added =
                new ReportTable<>(name.isEmpty() ? new JsonArray() : array(nameOf(name)), rows);
        table = added;
        return added;
    }

    /** Reports a problem with its cure: one line on standard error, and in JSON. */
    public void problem(String text) {
        isText(); // prints the last table
        array("problems").add(text);
        err.println("granary: " + withoutControls(text));
        err.flush();
    }

    /** Returns true if a problem was reported. */
    public boolean hasProblems() {
        return object.has("problems");
    }

    /** Completes the report. */
    public void print() {
        if (!isText() && !object.isEmpty()) {
            new GsonBuilder()
                    .setPrettyPrinting()
                    .disableHtmlEscaping()
                    .serializeNulls()
                    .create()
                    .toJson(object, out);
            out.println();
        }
        out.flush();
    }

    /** Returns true for text, after printing the last table. */
    private boolean isText() {
        if (table != null && !isJson) {
            if (isMarkdown) {
                table.printMarkdown(out);
            } else {
                table.print(out);
            }
        }
        table = null;
        return !isJson;
    }

    private JsonArray array(String name) {
        if (!object.has(name)) {
            object.add(name, new JsonArray());
        }
        return object.getAsJsonArray(name);
    }

    /** Prints a label and a text in a column of its own. A word longer than a line is broken. */
    private void wrap(String label, String text) {
        StringBuilder line = new StringBuilder(label);
        line.repeat(' ', Math.max(1, LABEL_WIDTH - label.length()));
        int start = line.length();
        for (String word : text.strip().split("\\s+")) {
            if (line.length() > start && line.length() + 1 + word.length() > WIDTH) {
                line(line.toString());
                line.setLength(0);
                line.repeat(' ', LABEL_WIDTH);
                start = LABEL_WIDTH;
            }
            line.append(line.length() > start ? " " : "").append(word);
            while (line.length() > WIDTH) {
                line(line.substring(0, WIDTH));
                line.replace(0, WIDTH, " ".repeat(LABEL_WIDTH));
                start = LABEL_WIDTH;
            }
        }
        line(line.toString().stripTrailing());
    }

    /** Returns the name in JSON of a label: {@code lastUsed} of {@code last used}. */
    static String nameOf(String label) {
        String words = label.substring(label.indexOf(':') + 1).replaceAll("^[<~=-]|\\W+$", "");
        return Pattern.compile("[ -](.)").matcher(words.strip()).replaceAll(space -> space.group(1)
                .toUpperCase(Locale.ROOT));
    }

    /** Replaces control characters, which could steer the terminal. */
    public static String withoutControls(String text) {
        return CONTROL.matcher(text).replaceAll("?");
    }

    /** Returns a text that has no markup in Markdown: names may come from other machines. */
    static String escaped(String text) {
        return MARKUP.matcher(withoutControls(text)).replaceAll("\\\\$0");
    }

    static String text(@Nullable Object value) {
        return switch (value) {
            case null -> "-";
            case Optional<?> optional -> text(optional.orElse(null));
            case Shown shown -> shown.text();
            case Integer number -> Units.count(number);
            case Long number -> Units.count(number);
            case Boolean flag -> flag ? "yes" : "no";
            case Duration time -> Units.time(time);
            // a ZoneId would look for providers in all jars, which takes 0.04 s
            case Instant time -> String.format(Locale.ROOT, "%1$tF %1$tR", time.toEpochMilli());
            case Sha256 hash -> hash.hex().substring(0, Units.SHORT_ID);
            case Enum<?> constant -> Units.word(constant);
            case Collection<?> values ->
                String.join(", ", values.stream().map(Report::text).toList());
            default -> value.toString();
        };
    }

    static JsonElement json(@Nullable Object value) {
        return switch (value) {
            case null -> JsonNull.INSTANCE;
            case Optional<?> optional -> json(optional.orElse(null));
            case Shown shown -> json(shown.value());
            case JsonElement element -> element;
            case Number number -> new JsonPrimitive(number);
            case Boolean flag -> new JsonPrimitive(flag);
            case Duration time -> new JsonPrimitive(Units.millis(time));
            case Sha256 hash -> new JsonPrimitive(hash.hex());
            case Enum<?> constant -> new JsonPrimitive(Units.word(constant));
            case Collection<?> values -> {
                JsonArray array = new JsonArray();
                values.forEach(each -> array.add(json(each)));
                yield array;
            }
            case Map<?, ?> values -> {
                JsonObject members = new JsonObject();
                values.forEach((name, each) -> members.add(name.toString(), json(each)));
                yield members;
            }
            default -> new JsonPrimitive(value.toString());
        };
    }
}
