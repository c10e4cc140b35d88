package dev.granary.cli.entry;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import dev.granary.cache.format.EntrySignature;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.OutputCommand;
import dev.granary.cli.option.StoreOptions;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.lookup.Explainer;
import dev.granary.gpu.Device;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;
import dev.granary.gpu.binary.compatibility.CompatibilityChecker;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/**
 * {@code granary inspect}: shows a key, whether a lookup is a hit, and the entry; or the
 * differences of two keys. It changes nothing.
 */
@Command(
        description = {
            "Show the key of X, whether a lookup is a hit or a miss, step by step, and the entry;"
                    + " with Y the fields in which the keys of X and Y differ.",
            "X and Y are the first digits of an id, a file with an entry, or MANIFEST#KERNEL."
        })
public final class InspectCommand extends OutputCommand {
    private static final int FRONT_END_CHARACTERS = 64;

    @Mixin
    private StoreOptions stores = new StoreOptions();

    @Parameters(index = "0", paramLabel = "X", description = "the id to look up")
    private String x = "";

    @Parameters(index = "1", arity = "0..1", paramLabel = "Y", description = "an id to compare")
    private @Nullable String y;

    @Option(
            names = "--key",
            description = "print only the key, with all fields in full (docs/ids.md)")
    private boolean isKeyOnly;

    @Option(
            names = "--binary",
            paramLabel = "FILE",
            description = "write the driver's binary to FILE, further ones to FILE.2, FILE.3 ...")
    private @Nullable Path binary;

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Override
    protected boolean run(Report report) throws Exception {
        GranaryConfig config = stores.builder().build();
        IdArgument argument = new IdArgument(config, device);
        try (Arena memory = Arena.ofConfined()) {
            IdArgument.Named named = argument.resolve(x, memory);
            if (y != null) {
                Id a = required(named, x);
                Id b = required(argument.resolve(y, memory), y);
                report.field("A:a", a.hash()).field("B:b", b.hash()).data("equal", a.equals(b));
                if (a.equals(b)) {
                    report.line("The ids are equal.");
                }
                KeyDifference.add(a, b, "A", "B", report);
            } else if (isKeyOnly) {
                KeyDifference.addWholeKey(required(named, x), report);
            } else {
                inspect(config, named, report);
            }
        }
        return true;
    }

    private static Id required(IdArgument.Named named, String argument) {
        if (named.id().isEmpty()) {
            throw new CommandFailedException(
                    named.kernel().map(KernelDescriptor::name).orElse(argument)
                            + " is not cacheable, so it has no id: "
                            + named.id().reason());
        }
        return named.id();
    }

    private void inspect(GranaryConfig config, IdArgument.Named named, Report report)
            throws Exception {
        // an id from digits or a file has a target, and needs a device only to replace it
        Optional<Device> selected = named.kernel().isPresent() || device.isGiven()
                ? Optional.of(device.selection().one())
                : Optional.empty();
        Id id = selected.isEmpty() || named.id().isEmpty()
                ? named.id()
                : named.id().withTarget(selected.get().target());
        Target target = id.isEmpty() ? named.kernel().orElseThrow().target() : id.target();
        Explainer.Explanation explanation = Explainer.explain(
                config,
                SpirvCompiler.onPath(),
                InstantSource.system(),
                new Explainer.Request(
                        id,
                        target,
                        selected.map(Device::readableTargets).orElse(List.of()),
                        selected.map(Device::kind),
                        // a compile has the step from OpenCL C to SPIR-V
                        named.kernel()
                                .filter(kernel ->
                                        kernel.target().backend().equals(Backend.LEVEL_ZERO)
                                                && kernel.spirv().isEmpty())));
        if (id.isEmpty()) {
            report.data("id", Optional.empty());
        } else {
            report.field("id", id.hash())
                    .text("device", target.device())
                    .text("driver", target.driver())
                    .field("target", target.path());
            KeyDifference.addKey(id, report);
            report.line("");
        }
        new ExplainedLookup(id, explanation)
                .addTo(config.buckets().stream().map(BucketConfig::name).toList(), report);
        // the entry that was named, even if no lookup uses it
        Optional<Entry> entry = named.entry()
                .filter(_ -> named.isFile())
                .or(explanation::entry)
                .or(() -> named.entry().filter(one -> one.id().equals(id)));
        if (entry.isPresent()) {
            report.line("");
            addEntry(entry.get(), target, report);
            TrustPolicy trust = new TrustPolicy(TrustPolicy.Mode.WARN, "", config.trustedKeys());
            report.field(
                    "signature",
                    EntrySignature.of(entry.get())
                            .map(signature -> trust.objection(entry.get())
                                    .orElse("signed by " + signature.keyName()))
                            .orElse("none"));
        }
        if (!id.isEmpty() && explanation.entry().isEmpty()) {
            addNearest(config, id, report);
        }
        if (binary != null) {
            write(
                    entry.orElseThrow(() -> new CommandFailedException(
                            "no tier has an entry, so --binary has nothing to write")),
                    binary);
        }
    }

    /** Adds the nearest entry of the first tier that has one of the same kernel. */
    private static void addNearest(GranaryConfig config, Id id, Report report)
            throws ConfigException {
        for (Place.Opener tier : Place.tiers(config)) {
            try (Place place = tier.open()) {
                Optional<Id> nearest = KeyDifference.nearest(place, id);
                if (nearest.isPresent()) {
                    Sha256 found = nearest.get().hash();
                    report.line("").field("nearest", found, found + " in " + place.name);
                    KeyDifference.add(id, nearest.get(), "lookup", "entry", report);
                    return;
                }
            } catch (IOException e) {
                report.line("").text("nearest", "a tier is not searched: " + e.getMessage());
            }
        }
        report.field("nearest", Optional.empty(), "no entry of the same kernel");
    }

    private static void write(Entry entry, Path binary) {
        int number = 1;
        for (byte[] bytes : entry.binaries().toByteArrays()) {
            Path file = number == 1 ? binary : Path.of(binary + "." + number);
            write(file, bytes, file.toString());
            number++;
        }
    }

    /** Adds all but the key. An outcome of a tuning and a front end are texts. */
    private static void addEntry(Entry entry, Target target, Report report) {
        boolean isTuning = TuningDescriptor.isTuning(entry.id());
        int count = entry.binaries().segments().size();
        long bytes = entry.binaries().byteSize();
        report.field("binaries", count, count + ", " + Units.bytes(bytes));
        report.data("bytes", bytes).data("entryTarget", entry.id().target().path());
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
        entry.metadata().ifPresent(metadata -> addMetadata(metadata, isTuning, report));
    }

    private static void addContainers(Entry entry, Target target, Report report) {
        boolean hasFrontEnd = IntermediateDescriptor.isIntermediate(entry.id())
                && entry.binaries().segments().size() > 1;
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

    private static void addMetadata(EntryMetadata metadata, boolean isTuning, Report report) {
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
