package dev.granary.cli.output;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.granary.cache.DamageKind;
import dev.granary.coordinator.admin.TierVerifier;
import dev.granary.coordinator.admin.TierVerifier.Count;
import dev.granary.local.DirectoryUsage;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What {@code granary verify} tells.
 *
 * @param directory the directory that was verified
 * @param found what reading its entries said
 * @param survey what lies there beside sound entries, after repairs
 */
public record VerifyReport(Path directory, TierVerifier found, DirectoryUsage survey) {
    private static final int NAMED_FILES = 20;

    public void print(PrintWriter out) {
        out.println(directory);
        TextTable table = new TextTable("found", "entries", "bytes");
        row(table, "sound", found.sound());
        for (DamageKind damage : DamageKind.values()) {
            row(table, TierVerifier.name(damage), found.damaged(damage));
        }
        row(table, "unreadable", found.unreadable());
        table.print(out);
        if (!found.bad().isEmpty()) {
            out.println();
            EntryFormatter.print(out, found.bad());
        }
        out.println();
        out.println("reclaimable  " + Units.bytes(survey.reclaimableBytes()) + " that maintenance will give back");
        out.println("overhead     " + Units.bytes(survey.overheadBytes()) + " beside the entries");
        out.println("foreign      " + (survey.foreign().isEmpty() ? "nothing" : foreignCount() + ", left alone:"));
        TextTable names = new TextTable("");
        survey.foreign().stream().limit(NAMED_FILES).forEach(file -> names.row("  " + relative(file)));
        names.printRows(out);
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
        if (found.repaired().entries() > 0) {
            parts.add(EntryFormatter.inSentence(found.repaired().entries(), found.repaired().bytes()) + " removed.");
        }
        if (!found.isHealthy()) {
            parts.add("There is damage. Damaged entries are never used; --repair removes them.");
        } else if (parts.isEmpty()) {
            parts.add("All is well.");
        }
        if (found.damaged(DamageKind.TOO_OLD).entries() + found.damaged(DamageKind.TOO_NEW).entries() > 0) {
            parts.add("Entries of other versions are left to these.");
        }
        return String.join(System.lineSeparator(), parts);
    }

    private String foreignCount() {
        int files = survey.foreign().size();
        return Units.plural(files, "file") + (files == DirectoryUsage.NAMED ? " or more" : "");
    }

    private Path relative(Path file) {
        return file.startsWith(directory) ? directory.relativize(file) : file;
    }

    public JsonObject json() {
        JsonObject reasons = new JsonObject();
        add(reasons, "sound", found.sound());
        for (DamageKind damage : DamageKind.values()) {
            add(reasons, TierVerifier.name(damage), found.damaged(damage));
        }
        add(reasons, "unreadable", found.unreadable());
        JsonArray foreign = new JsonArray();
        survey.foreign().forEach(file -> foreign.add(file.toString()));
        return JsonOutput.object("directory", directory, "well", found.isHealthy(), "found", reasons,
                "removedEntries", found.repaired().entries(), "removedBytes", found.repaired().bytes(),
                "damaged", EntryFormatter.badJson(found.bad()), "reclaimableBytes", survey.reclaimableBytes(),
                "overheadBytes", survey.overheadBytes(), "foreign", foreign);
    }

    private static void add(JsonObject reasons, String name, @Nullable Count count) {
        Count known = count == null ? Count.NONE : count;
        reasons.add(camel(name), JsonOutput.object("entries", known.entries(), "bytes", known.bytes()));
    }

    private static String camel(String name) {
        int space = name.indexOf(' ');
        return space < 0 ? name : name.substring(0, space) + Character.toUpperCase(name.charAt(space + 1)) + name.substring(space + 2);
    }
}
