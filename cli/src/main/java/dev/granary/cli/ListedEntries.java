package dev.granary.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.granary.cache.Catalog;
import dev.granary.coordinator.admin.TierVerifier;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** How listed entries are told to people and machines. */
final class ListedEntries {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm").withZone(ZoneId.systemDefault());
    private static final int NAMED = 20;
    private static final int WIDTH = 80;
    private static final int KERNELS_CHARACTERS = 24;

    private ListedEntries() {}

    static long bytes(List<Catalog.Listed> entries) {
        return entries.stream().mapToLong(Catalog.Listed::bytes).reduce(0, ListedEntries::sumOf);
    }

    /** The sum of two sizes, or the largest number where it is more: a size is what a server tells. */
    static long sumOf(long one, long other) {
        return Math.max(0, other) > Long.MAX_VALUE - one ? Long.MAX_VALUE : one + Math.max(0, other);
    }

    /** Such as {@code 3 entries, 1.2 MiB}. */
    static String sum(List<Catalog.Listed> entries) {
        return sum(entries.size(), bytes(entries));
    }

    static String sum(long entries, long bytes) {
        return Text.plural(entries, "entry") + ", " + Text.bytes(bytes);
    }

    /** Such as {@code 3 entries (1.2 MiB)}, for a sentence that goes on. */
    static String inSentence(long entries, long bytes) {
        return Text.plural(entries, "entry") + " (" + Text.bytes(bytes) + ")";
    }

    static String inSentence(List<Catalog.Listed> entries) {
        return inSentence(entries.size(), bytes(entries));
    }

    /** One table per target, in the order of their first entries; where {@code details} knows entries, with what it knows. */
    static void print(PrintWriter out, List<Catalog.Listed> entries, Map<Catalog.Listed, Details> details) {
        Map<String, Table> tables = new LinkedHashMap<>();
        for (Catalog.Listed entry : entries) {
            Table table = tables.computeIfAbsent(entry.namespace(), _ -> details.isEmpty()
                    ? new Table("id", "size", "<last used")
                    : new Table("id", "size", "<last used", "compiled", "<kernels"));
            Details more = details.get(entry);
            if (more == null) {
                table.row(shortId(entry), Text.bytes(entry.bytes()), lastUsed(entry));
            } else {
                boolean isSound = more.damage().isEmpty();
                table.row(shortId(entry), Text.bytes(entry.bytes()), lastUsed(entry), isSound ? Text.time(more.compileTime()) : "-",
                        Text.cut(isSound ? String.join(" ", more.kernels()) : "(" + more.damage() + ")", KERNELS_CHARACTERS));
            }
        }
        tables.forEach((namespace, table) -> {
            out.println(namespace);
            table.print(out);
            out.println();
        });
    }

    static String shortId(Catalog.Listed entry) {
        return entry.hash().hex().substring(0, Text.SHORT_ID);
    }

    static String lastUsed(Catalog.Listed entry) {
        return TIME.format(Instant.ofEpochMilli(entry.lastUsedMillis()));
    }

    static JsonObject json(Catalog.Listed entry) {
        return Json.object("id", entry.hash().hex(), "namespace", entry.namespace(), "bytes", entry.bytes(),
                "lastUsed", Instant.ofEpochMilli(entry.lastUsedMillis()).toString());
    }

    static JsonArray json(List<Catalog.Listed> entries) {
        JsonArray array = new JsonArray();
        entries.forEach(entry -> array.add(json(entry)));
        return array;
    }

    /** Names the first entries that are not sound. */
    static void print(PrintWriter out, List<TierVerifier.Bad> bad) {
        Table table = new Table("id", "<found", "<where");
        List<TierVerifier.Bad> named = bad.stream().limit(NAMED).toList();
        int reasons = named.stream().mapToInt(one -> one.reason().length()).max().orElse(0);
        int left = WIDTH - Text.SHORT_ID - reasons - 2 * 2; // two spaces between columns
        named.forEach(one -> table.row(shortId(one.listed()), one.reason(), Text.cut(one.detail(), left)));
        table.print(out);
        if (bad.size() > NAMED) {
            out.println("... and " + (bad.size() - NAMED) + " more; --json names all");
        }
    }

    static JsonArray badJson(List<TierVerifier.Bad> bad) {
        JsonArray array = new JsonArray();
        bad.forEach(one -> {
            JsonObject object = json(one.listed());
            object.addProperty("found", one.reason());
            object.addProperty("detail", one.detail());
            object.addProperty("removed", one.fate() == TierVerifier.Fate.REMOVED);
            array.add(object);
        });
        return array;
    }
}
