package dev.granary.cli.output;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.EntryCatalog;
import dev.granary.cli.place.EntryCopier;
import dev.granary.cli.place.EntryVerifier;

import java.io.PrintWriter;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Formatter of listed entries, as text and as JSON. */
public final class EntryFormatter {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm").withZone(ZoneId.systemDefault());
    private static final int MAX_LISTED = 20;
    private static final int WIDTH = 80;
    private static final int KERNELS_CHARACTERS = 24;
    private static final int CAUSE_CHARACTERS = 68;
    private static final Pattern ID =
            Pattern.compile("\\b([0-9a-f]{" + Units.SHORT_ID + "})[0-9a-f]{48}\\b");

    private EntryFormatter() {}

    public static long bytes(List<EntryCatalog.Listed> entries) {
        return entries.stream()
                .mapToLong(EntryCatalog.Listed::bytes)
                .reduce(0, EntryFormatter::sumOf);
    }

    /** Returns the sum of two sizes, without overflow: a server may report any size. */
    public static long sumOf(long one, long other) {
        return Math.max(0, other) > Long.MAX_VALUE - one
                ? Long.MAX_VALUE
                : one + Math.max(0, other);
    }

    /** Returns text such as {@code 3 entries, 1.2 MiB}. */
    static String sum(List<EntryCatalog.Listed> entries) {
        return sum(entries.size(), bytes(entries));
    }

    public static String sum(long entries, long bytes) {
        return Units.plural(entries, "entry") + ", " + Units.bytes(bytes);
    }

    /** Returns text such as {@code 3 entries (1.2 MiB)}, for use within a sentence. */
    public static String inSentence(long entries, long bytes) {
        return Units.plural(entries, "entry") + " (" + Units.bytes(bytes) + ")";
    }

    public static String inSentence(List<EntryCatalog.Listed> entries) {
        return inSentence(entries.size(), bytes(entries));
    }

    /**
     * Prints one table per target, in the order of their first entries, with the details that are
     * given.
     */
    public static void print(
            PrintWriter out,
            List<EntryCatalog.Listed> entries,
            Map<EntryCatalog.Listed, EntryDetails> details) {
        Map<String, TextTable> tables = new LinkedHashMap<>();
        for (EntryCatalog.Listed entry : entries) {
            TextTable table = tables.computeIfAbsent(
                    entry.namespace(),
                    _ -> details.isEmpty()
                            ? new TextTable("id", "size", "<last used")
                            : new TextTable("id", "size", "<last used", "compiled", "<kernels"));
            EntryDetails detail = details.get(entry);
            if (detail == null) {
                table.row(shortId(entry), Units.bytes(entry.bytes()), lastUsed(entry));
            } else {
                boolean isSound = detail.damage().isEmpty();
                table.row(
                        shortId(entry),
                        Units.bytes(entry.bytes()),
                        lastUsed(entry),
                        isSound ? Units.time(detail.compileTime()) : "-",
                        Units.cut(
                                isSound
                                        ? String.join(" ", detail.kernels())
                                        : "(" + detail.damage() + ")",
                                KERNELS_CHARACTERS));
            }
        }
        tables.forEach((namespace, table) -> {
            out.println(namespace);
            table.print(out);
            out.println();
        });
    }

    public static String shortId(EntryCatalog.Listed entry) {
        return entry.hash().hex().substring(0, Units.SHORT_ID);
    }

    static String lastUsed(EntryCatalog.Listed entry) {
        return minute(entry.lastUsedMillis());
    }

    /** Returns a time as date, hour and minute in the zone of this machine. */
    public static String minute(long epochMillis) {
        return TIME.format(Instant.ofEpochMilli(epochMillis));
    }

    public static JsonObject json(EntryCatalog.Listed entry) {
        return JsonOutput.object(
                "id",
                entry.hash().hex(),
                "namespace",
                entry.namespace(),
                "bytes",
                entry.bytes(),
                "lastUsed",
                Instant.ofEpochMilli(entry.lastUsedMillis()).toString());
    }

    public static JsonArray json(List<EntryCatalog.Listed> entries) {
        JsonArray array = new JsonArray();
        entries.forEach(entry -> array.add(json(entry)));
        return array;
    }

    /** Prints the first entries that are not sound. */
    public static void print(PrintWriter out, List<EntryVerifier.Bad> bad) {
        TextTable table = new TextTable("id", "<found", "<where");
        List<EntryVerifier.Bad> listed = bad.stream().limit(MAX_LISTED).toList();
        int reasonWidth =
                listed.stream().mapToInt(one -> one.reason().length()).max().orElse(0);
        // two spaces between columns
        int detailWidth = WIDTH - Units.SHORT_ID - reasonWidth - 2 * 2;
        listed.forEach(one -> table.row(
                shortId(one.listed()), one.reason(), Units.cut(one.detail(), detailWidth)));
        table.print(out);
        if (bad.size() > MAX_LISTED) {
            out.println("... and " + (bad.size() - MAX_LISTED) + " more; --json lists all");
        }
    }

    /**
     * Prints the first causes for which entries failed, with shortened ids; nothing if none did.
     */
    public static void print(PrintWriter out, Map<String, EntryCopier.Failures> failures) {
        if (failures.isEmpty()) {
            return;
        }
        out.println();
        TextTable causes = new TextTable("failed", "<cause");
        failures.entrySet().stream()
                .limit(MAX_LISTED)
                .forEach(each -> causes.row(
                        Units.count(each.getValue().entries()),
                        Units.cut(ID.matcher(each.getKey()).replaceAll("$1"), CAUSE_CHARACTERS)));
        causes.print(out);
        if (failures.size() > MAX_LISTED) {
            out.println("... and " + (failures.size() - MAX_LISTED) + " more; --json lists all");
        }
    }

    /** Returns the entries that failed, by cause. */
    public static JsonArray json(Map<String, EntryCopier.Failures> failures) {
        JsonArray array = new JsonArray();
        failures.forEach((cause, each) -> array.add(JsonOutput.object(
                "cause", cause, "entries", each.entries(), "bytes", each.bytes())));
        return array;
    }

    public static JsonArray badJson(List<EntryVerifier.Bad> bad) {
        JsonArray array = new JsonArray();
        bad.forEach(one -> {
            JsonObject object = json(one.listed());
            object.addProperty("found", one.reason());
            object.addProperty("detail", one.detail());
            object.addProperty("removed", one.action() == EntryVerifier.Action.REMOVED);
            array.add(object);
        });
        return array;
    }
}
