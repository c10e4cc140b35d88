package dev.granary.cli.output;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cli.place.EntryVerifier;
import dev.granary.cli.place.EntryVerifier.Count;
import dev.granary.local.DirectoryUsage;

import org.jspecify.annotations.Nullable;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Report of {@code granary verify}.
 *
 * @param directory the directory that was verified
 * @param verifier the results of reading its entries
 * @param usage the use of space and the foreign files, after repairs
 */
public record VerifyReport(Path directory, EntryVerifier verifier, DirectoryUsage usage) {
    private static final int MAX_LISTED_FILES = 20;

    public void print(PrintWriter out) {
        out.println(directory);
        TextTable table = new TextTable("found", "entries", "bytes");
        row(table, "sound", verifier.sound());
        for (DamageKind damage : DamageKind.values()) {
            row(table, EntryVerifier.name(damage), verifier.damaged(damage));
        }
        row(table, "unreadable", verifier.unreadable());
        table.print(out);
        if (!verifier.bad().isEmpty()) {
            out.println();
            EntryFormatter.print(out, verifier.bad());
        }
        out.println();
        out.println("unfinished   "
                + (usage.unfinished() == 0
                        ? "nothing"
                        : Units.plural(usage.unfinished(), "file") + " of "
                                + Units.bytes(usage.unfinishedBytes())
                                + "; sweeps remove those older than an hour"));
        out.println("foreign      "
                + (usage.foreign().isEmpty() ? "nothing" : foreignCount() + ", ignored:"));
        TextTable files = new TextTable("");
        usage.foreign().stream()
                .limit(MAX_LISTED_FILES)
                .forEach(file -> files.row("  " + relative(file)));
        files.printRows(out);
        out.println();
        out.println(verdict());
        out.flush();
    }

    private static void row(TextTable table, String name, Count count) {
        if (count.entries() > 0 || name.equals("sound")) {
            table.row(name, Units.count(count.entries()), Units.bytes(count.bytes()));
        }
    }

    private String verdict() {
        List<String> parts = new ArrayList<>();
        if (verifier.repaired().entries() > 0) {
            parts.add(EntryFormatter.inSentence(
                            verifier.repaired().entries(), verifier.repaired().bytes())
                    + " removed.");
        }
        if (!verifier.isHealthy()) {
            parts.add("There is damage. Damaged entries are never used; --repair removes them.");
        } else if (parts.isEmpty()) {
            parts.add("No damage found.");
        }
        if (verifier.damaged(DamageKind.TOO_OLD).entries()
                        + verifier.damaged(DamageKind.TOO_NEW).entries()
                > 0) {
            parts.add("Entries of other versions are kept for those versions.");
        }
        return String.join(System.lineSeparator(), parts);
    }

    private String foreignCount() {
        int files = usage.foreign().size();
        return Units.plural(files, "file") + (files == DirectoryUsage.NAMED ? " or more" : "");
    }

    private Path relative(Path file) {
        return file.startsWith(directory) ? directory.relativize(file) : file;
    }

    public JsonObject json() {
        JsonObject reasons = new JsonObject();
        add(reasons, "sound", verifier.sound());
        for (DamageKind damage : DamageKind.values()) {
            add(reasons, EntryVerifier.name(damage), verifier.damaged(damage));
        }
        add(reasons, "unreadable", verifier.unreadable());
        JsonArray foreign = new JsonArray();
        usage.foreign().forEach(file -> foreign.add(file.toString()));
        return JsonOutput.object(
                "directory",
                directory,
                "healthy",
                verifier.isHealthy(),
                "found",
                reasons,
                "removedEntries",
                verifier.repaired().entries(),
                "removedBytes",
                verifier.repaired().bytes(),
                "damaged",
                EntryFormatter.badJson(verifier.bad()),
                "unfinished",
                usage.unfinished(),
                "unfinishedBytes",
                usage.unfinishedBytes(),
                "foreign",
                foreign);
    }

    private static void add(JsonObject reasons, String name, @Nullable Count count) {
        Count total = count == null ? Count.NONE : count;
        reasons.add(
                camel(name), JsonOutput.object("entries", total.entries(), "bytes", total.bytes()));
    }

    private static String camel(String name) {
        int space = name.indexOf(' ');
        return space < 0
                ? name
                : name.substring(0, space)
                        + Character.toUpperCase(name.charAt(space + 1))
                        + name.substring(space + 2);
    }
}
