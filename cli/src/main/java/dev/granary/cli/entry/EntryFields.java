package dev.granary.cli.entry;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Target;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;

import java.util.List;

/** Fields of an entry in a report. */
final class EntryFields {
    private static final int FRONT_END_CHARACTERS = 64;

    private EntryFields() {}

    /** Adds all but the key. An outcome of a tuning and a front end are texts. */
    static void add(Entry entry, Target target, Report report) {
        boolean isTuning = TuningDescriptor.isTuning(entry.id());
        int count = entry.binaries().count();
        long bytes = entry.binaries().byteSize();
        report.field("binaries", count, count + ", " + Units.bytes(bytes));
        report.data("bytes", bytes)
                .data("entryTarget", entry.id().target().path());
        if (!entry.id().target().equals(target)) {
            report.text("of target", entry.id().target().path());
        }
        if (isTuning) {
            List<String> lines = text(entry, 0).lines().toList();
            report.data("tuning", lines);
            lines.forEach(line -> report.text("tuning", line));
        } else {
            addContainers(entry, target, report);
        }
        report.field((isTuning ? "tuned in" : "compiled") + ":compileMillis", entry.compileTime())
                .field("content:contentSha256", entry.contentHash());
        entry.metadata().ifPresent(metadata -> add(metadata, isTuning, report));
    }

    private static void addContainers(Entry entry, Target target, Report report) {
        boolean hasFrontEnd = IntermediateDescriptor.isIntermediate(entry.id())
                && entry.binaries().count() > 1;
        List<String> containers = entry.binaries().segments().stream()
                .limit(hasFrontEnd ? 1 : Long.MAX_VALUE)
                .map(binary -> BinaryContainer.read(binary).description())
                .toList();
        report.data("containers", containers);
        containers.forEach(each -> report.text("container", each));
        if (hasFrontEnd) {
            String frontEnd = text(entry, 1);
            report.field("front end", frontEnd, Units.cut(frontEnd, FRONT_END_CHARACTERS));
        }
        BinaryCompatibility judged = CompatibilityChecker.check(target, entry.binaries());
        String reason = judged.reason();
        Report.Shown shown =
                switch (judged) {
                    case BinaryCompatibility.Compatible _ ->
                        new Report.Shown("compatible", "yes: " + reason);
                    case BinaryCompatibility.Incompatible _ ->
                        new Report.Shown("incompatible", "no, lookups discard it: " + reason);
                    case BinaryCompatibility.Undetermined _ ->
                        new Report.Shown(
                                "undetermined", "undetermined, the driver decides: " + reason);
                };
        report.field("compatible:compatibility", shown).data("reason", reason);
    }

    private static void add(EntryMetadata metadata, boolean isTuning, Report report) {
        report.field("kernels", metadata.kernels()).data("geometries", metadata.geometries());
        if (!isTuning) {
            report.text(
                    "covers",
                    metadata.geometries().isEmpty() ? "any launch" : metadata.geometries());
        }
        report.field(
                        "made by:producer",
                        metadata.producer(),
                        metadata.producer() + ", granary " + metadata.granaryVersion())
                .data("granaryVersion", metadata.granaryVersion())
                .field("made at:createdAt", metadata.createdAt().toString());
    }

    private static String text(Entry entry, int binary) {
        return new String(entry.binaries().toByteArrays().get(binary), UTF_8);
    }
}
