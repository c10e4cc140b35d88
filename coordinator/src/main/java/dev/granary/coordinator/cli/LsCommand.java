package dev.granary.coordinator.cli;

import com.google.gson.JsonArray;
import dev.granary.cache.Catalog;
import dev.granary.coordinator.Inventory;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code granary ls}: lists the entries of a tier. */
@Command(name = "ls", mixinStandardHelpOptions = true, description = "List the entries of the local tier or of the bucket.")
final class LsCommand extends StoreCommand {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm").withZone(ZoneId.systemDefault());

    @Mixin
    private TierOption tier = new TierOption();

    @Override
    public Integer call() throws Exception {
        PrintWriter out = out();
        try (Inventory inventory = tier.open(stores().config())) {
            List<Catalog.Listed> entries = inventory.entries();
            if (isJson()) {
                JsonArray array = new JsonArray();
                entries.forEach(entry -> array.add(Json.object("id", entry.hash().hex(), "namespace", entry.namespace(), "bytes",
                        entry.bytes(), "lastUsed", Instant.ofEpochMilli(entry.lastUsedMillis()).toString())));
                Json.print(out, Json.object("tier", inventory.name(), "entries", array));
            } else {
                print(out, inventory, entries);
            }
            return 0;
        } catch (IOException e) {
            throw new FailedException("the entries cannot be listed: " + e.getMessage());
        }
    }

    private static void print(PrintWriter out, Inventory inventory, List<Catalog.Listed> entries) {
        String namespace = "";
        Table table = new Table("id", "size", "<last used");
        for (Catalog.Listed entry : entries.stream().sorted(Comparator.comparing(Catalog.Listed::namespace)).toList()) {
            if (!entry.namespace().equals(namespace)) {
                if (!namespace.isEmpty()) {
                    table.print(out);
                    out.println();
                }
                namespace = entry.namespace();
                out.println(namespace);
                table = new Table("id", "size", "<last used");
            }
            table.row(entry.hash().hex().substring(0, 16), Text.bytes(entry.bytes()), TIME.format(Instant.ofEpochMilli(entry.lastUsedMillis())));
        }
        if (!entries.isEmpty()) {
            table.print(out);
            out.println();
        }
        out.println(Text.plural(entries.size(), "entry") + ", " + Text.bytes(entries.stream().mapToLong(Catalog.Listed::bytes).sum())
                + " in " + inventory.name());
        out.flush();
    }
}
