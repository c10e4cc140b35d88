package dev.granary.cli.entry;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.key.EntryFinder;
import dev.granary.cli.key.KeyText;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.IdPrefixConverter;
import dev.granary.cli.option.TierOption;
import dev.granary.cli.output.EntryFormatter;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.EntryVerifier;
import dev.granary.cli.place.Place;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.util.List;

/** {@code granary inspect}: verifies one entry and shows all its fields. */
@Command(
        name = "inspect",
        mixinStandardHelpOptions = true,
        description = "Verify the entry whose id begins with ID, and show it.")
public final class InspectCommand extends TierCommand {
    private static final int FRONT_END_CHARACTERS = 64;

    @Parameters(paramLabel = "ID", description = "the first digits of an id, as ls shows it")
    private String prefix = "";

    @Option(
            names = "--key",
            description = "print only the key, with all fields in full (docs/ids.md)")
    private boolean isKeyOnly;

    @Mixin
    private TierOption tier = new TierOption();

    @Override
    public Integer call() throws Exception {
        prefix = IdPrefixConverter.parse(prefix);
        try (Place inventory = tier.open(stores());
                Arena memory = Arena.ofConfined()) {
            EntryCatalog.Listed listed = EntryFinder.find(inventory, prefix);
            return switch (inventory.read(listed, memory)) {
                case LoadResult.Hit hit -> {
                    print(listed, hit.entry());
                    yield 0;
                }
                case LoadResult.Damaged damaged -> {
                    if (isJson()) {
                        JsonObject object = EntryFormatter.json(listed);
                        object.addProperty("damage", EntryVerifier.name(damaged.damage()));
                        object.addProperty("detail", damaged.detail());
                        JsonOutput.print(out(), object);
                    }
                    throw new CommandFailedException(message(listed, damaged));
                }
                case LoadResult.Absent _ ->
                    throw new CommandFailedException(
                            "entry " + listed.hash() + " has just been removed");
                case LoadResult.Unavailable unavailable ->
                    throw new CommandFailedException(
                            "entry " + listed.hash() + " cannot be read: " + unavailable.cause());
            };
        } catch (IOException e) {
            throw new CommandFailedException("the entries cannot be listed: " + e.getMessage());
        }
    }

    private static String message(EntryCatalog.Listed listed, LoadResult.Damaged damaged) {
        return EntryVerifier.isOtherVersion(damaged.damage())
                ? "entry " + listed.hash() + " is of another version (" + damaged.damage() + ": "
                        + damaged.detail()
                        + "); this version does not use it, and replaces it only when it stores"
                        + " this id"
                : "entry " + listed.hash() + " is damaged (" + damaged.damage() + ": "
                        + damaged.detail()
                        + "); it is never used, and the next store of this id replaces it";
    }

    private void print(EntryCatalog.Listed listed, Entry entry) {
        PrintWriter out = out();
        if (isJson()) {
            JsonOutput.print(out, json(listed, entry));
            return;
        }
        if (isKeyOnly) {
            KeyText.print(entry.id(), out);
            return;
        }
        TextTable table = new TextTable("id", "<" + entry.id().hash());
        table.row("intact", "yes: full key, checksums, SHA-256 of the content");
        table.row("target", entry.id().target().path());
        table.row("device", entry.id().target().device());
        table.row("driver", entry.id().target().driver());
        table.row(
                "binaries",
                entry.binaries().count() + ", " + Units.bytes(entry.binaries().byteSize()));
        boolean isTuning = TuningDescriptor.isTuning(entry.id());
        if (isTuning) {
            outcome(entry).forEach(line -> table.row("outcome", line));
        } else if (IntermediateDescriptor.isIntermediate(entry.id())) {
            table.row("container", containers(entry).getFirst().description());
            if (entry.binaries().count() > 1) {
                table.row("front end", Units.cut(text(entry, 1), FRONT_END_CHARACTERS));
            }
            table.row("compatible", words(compatibility(entry)));
        } else {
            containers(entry).forEach(each -> table.row("container", each.description()));
            table.row("compatible", words(compatibility(entry)));
        }
        table.row("stored", Units.bytes(listed.bytes()));
        table.row(isTuning ? "tuned in" : "compiled in", Units.time(entry.compileTime()));
        table.row("content", "sha256 " + entry.contentHash());
        entry.metadata().ifPresent(metadata -> {
            table.row("kernels", String.join(", ", metadata.kernels()));
            if (!isTuning) {
                table.row(
                        "covers",
                        metadata.geometries().isEmpty()
                                ? "any launch"
                                : String.join(", ", metadata.geometries()));
            }
            table.row("made by", metadata.producer() + ", granary " + metadata.libraryVersion());
            table.row("made at", metadata.createdAt().toString());
            table.row("key", KeyText.abbreviated(metadata.readableKey()));
        });
        int left = KeyText.forEachField(entry.id(), table::row);
        table.print(out);
        if (left > 0) {
            out.println("  ... and " + left + " more fields of the key; --key shows all");
            out.flush();
        }
    }

    private static JsonObject json(EntryCatalog.Listed listed, Entry entry) {
        JsonArray fields = new JsonArray();
        entry.id()
                .fields()
                .forEach(field -> fields.add(
                        JsonOutput.object("name", field.name(), "value", KeyText.of(field))));
        JsonObject object = JsonOutput.object(
                "id",
                entry.id().hash().hex(),
                "namespace",
                listed.namespace(),
                "storedBytes",
                listed.bytes(),
                "bytes",
                entry.binaries().byteSize(),
                "compileMillis",
                Units.millis(entry.compileTime()),
                "containers",
                JsonOutput.strings(containers(entry).stream()
                        .map(BinaryContainer::description)
                        .toList()),
                "compatibility",
                JsonOutput.object(
                        "result",
                        name(compatibility(entry)),
                        "reason",
                        compatibility(entry).reason()),
                "contentSha256",
                entry.contentHash().hex(),
                "key",
                fields);
        if (TuningDescriptor.isTuning(entry.id())) {
            object.add("outcome", JsonOutput.strings(outcome(entry)));
        }
        if (IntermediateDescriptor.isIntermediate(entry.id())
                && entry.binaries().count() > 1) {
            object.addProperty("frontEnd", text(entry, 1));
        }
        entry.metadata().ifPresent(metadata -> {
            object.add("kernels", JsonOutput.strings(metadata.kernels()));
            object.add("geometries", JsonOutput.strings(metadata.geometries()));
            object.addProperty("producer", metadata.producer());
            object.addProperty("createdAt", metadata.createdAt().toString());
            object.addProperty("libraryVersion", metadata.libraryVersion());
        });
        return object;
    }

    /** Returns the lines of the outcome of a tuning. */
    private static List<String> outcome(Entry entry) {
        return text(entry, 0).lines().toList();
    }

    private static String text(Entry entry, int binary) {
        return new String(entry.binaries().toByteArrays().get(binary), UTF_8);
    }

    private static List<BinaryContainer> containers(Entry entry) {
        return entry.binaries().segments().stream().map(BinaryContainer::read).toList();
    }

    private static BinaryCompatibility compatibility(Entry entry) {
        return CompatibilityChecker.check(entry.id().target(), entry.binaries());
    }

    /** Returns the name for machines, such as {@code incompatible}. */
    private static String name(BinaryCompatibility compatibility) {
        return switch (compatibility) {
            case BinaryCompatibility.Compatible _ -> "compatible";
            case BinaryCompatibility.Incompatible _ -> "incompatible";
            case BinaryCompatibility.Undetermined _ -> "undetermined";
        };
    }

    private static String words(BinaryCompatibility compatibility) {
        return switch (compatibility) {
            case BinaryCompatibility.Compatible compatible -> "yes: " + compatible.reason();
            case BinaryCompatibility.Incompatible incompatible ->
                "no, lookups discard it: " + incompatible.reason();
            case BinaryCompatibility.Undetermined undetermined ->
                "undetermined: " + undetermined.reason();
        };
    }
}
