package dev.granary.cli.entry;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cli.command.TierCommand;
import dev.granary.cli.key.IdArgument;
import dev.granary.cli.key.NearestEntry;
import dev.granary.cli.option.CommandFailedException;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.option.TierOption;
import dev.granary.cli.option.UsageException;
import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.Units;
import dev.granary.cli.place.Place;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.lookup.Explainer;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.gpu.Device;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.spirv.SpirvCompiler;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.nio.file.Files;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/** {@code granary explain}: explains what a lookup of a kernel would do, and changes nothing. */
@Command(
        name = "explain",
        mixinStandardHelpOptions = true,
        description = {
            "Explain whether a lookup of KERNEL is a hit or a miss, step by step.",
            "KERNEL is MANIFEST#KERNEL, the first digits of an id, or a file with an entry."
        })
public final class ExplainCommand extends TierCommand {
    /** The number of entries that are compared with the id of a miss. */
    private static final int MAX_COMPARED = 10_000;

    /** The same for a bucket, where each is a request. */
    private static final int MAX_COMPARED_IN_BUCKET = 200;

    @Parameters(paramLabel = "KERNEL", description = "the kernel")
    private String kernel = "";

    @Mixin
    private TierOption tier = new TierOption();

    @Mixin
    private DeviceOption device = new DeviceOption();

    @Override
    public Integer call() throws Exception {
        GranaryConfig config = stores().config();
        IdArgument argument = new IdArgument(() -> openTier(config), device);
        Optional<KernelDescriptor> descriptor = IdArgument.isKernel(kernel)
                ? Optional.of(argument.kernel(kernel))
                : Optional.empty();
        Id named = descriptor.isPresent() ? descriptor.get().getId() : argument.resolveAny(kernel);
        // an id from digits or a file has a target, and needs a device only to replace it
        Optional<Device> selected = IdArgument.isKernel(kernel) || device.isGiven()
                ? Optional.of(device.device())
                : Optional.empty();
        Id id = selected.isEmpty() || named.isEmpty()
                ? named
                : named.withTarget(selected.get().target());
        Optional<EngineKind> kind = selected.map(Device::kind);
        List<Target> readable = selected.map(Device::readableTargets).orElse(List.of());
        Optional<KernelDescriptor> compiled = descriptor.filter(ExplainCommand::needsSpirv);
        Target target = id.isEmpty() ? descriptor.orElseThrow().target() : id.target();
        Explainer.Explanation explanation = Explainer.explain(
                config,
                SpirvCompiler.onPath(),
                InstantSource.system(),
                new Explainer.Request(id, target, readable, kind, compiled));
        Explained explained = new Explained(id, target, explanation);
        boolean isCompared = !id.isEmpty() && explanation.entry().isEmpty();
        if (isJson()) {
            Optional<NearestEntry> nearest = isCompared ? nearest(config, id) : Optional.empty();
            JsonOutput.print(out(), ExplanationJson.of(explained, nearest));
            return 0;
        }
        ExplanationText text = new ExplanationText(out());
        text.print(explained); // before the search, which may take long or fail
        if (isCompared) {
            nearest(config, id)
                    .ifPresentOrElse(
                            found -> text.print(found, tierName(config)),
                            () -> text.printNoNearest(tierName(config)));
        }
        return 0;
    }

    /**
     * An explained lookup.
     *
     * @param target the target of the engine
     */
    record Explained(Id id, Target target, Explainer.Explanation explanation) {
        /** Returns the outcome in words. */
        String outcome() {
            return explanation
                            .waitLimit()
                            .map(limit -> "a lookup waits for the other process, at most "
                                    + Units.time(limit) + "; otherwise ")
                            .orElse("")
                    + found();
        }

        private String found() {
            Optional<GranaryEvent.Restore> restored = explanation.entry().isEmpty()
                    ? Optional.empty()
                    : explanation.events().stream()
                            .filter(this::isOwn)
                            .filter(GranaryEvent.Restore.class::isInstance)
                            .map(GranaryEvent.Restore.class::cast)
                            .reduce((_, last) -> last);
            if (restored.isPresent()) {
                String tier = restored.get().tier();
                return "a lookup restores the entry of "
                        + (tier.equals(Tiers.LOCAL)
                                ? "the local tier"
                                : tier + ", and stores it in the local tier");
            }
            return "a lookup compiles: " + reason();
        }

        private String reason() {
            if (id.isEmpty()) {
                return "the kernel is not cacheable: " + id.reason();
            }
            return explanation.events().stream().noneMatch(GranaryEvent.Load.class::isInstance)
                    ? "the setting enabled switches its engine off"
                    : "no tier has an entry that it may use"
                            + explanation.failure().map(cause -> "; " + cause).orElse("");
        }

        /** Returns false for an event of the lookup of an intermediate program. */
        boolean isOwn(GranaryEvent event) {
            String digest = id.isEmpty() ? "" : id.hash().hex();
            return switch (event) {
                // an entry of another namespace has another id
                case GranaryEvent.Load load -> load.id().equals(digest);
                case GranaryEvent.Restore restore ->
                    restore.id().equals(digest)
                            || explanation
                                    .entry()
                                    .filter(entry -> entry.id().hash().hex().equals(restore.id()))
                                    .isPresent();
                case GranaryEvent.Wait wait -> wait.id().equals(digest);
                case GranaryEvent.Compile compile -> compile.id().equals(digest);
                case GranaryEvent.Lookup lookup -> lookup.id().equals(digest);
                case GranaryEvent.Store _, GranaryEvent.Upload _, GranaryEvent.Eviction _ -> false;
            };
        }
    }

    /** Returns true if a compile of the kernel has the step from OpenCL C to SPIR-V. */
    private static boolean needsSpirv(KernelDescriptor kernel) {
        return kernel.target().backend() == Backend.LEVEL_ZERO && kernel.spirv().isEmpty();
    }

    /** Opens the selected tier, but creates no directory. */
    private Place openTier(GranaryConfig config)
            throws ConfigException, UsageException, CommandFailedException {
        if (isMissing(config)) {
            throw new CommandFailedException("there is no " + config.directory());
        }
        return tier.openBesideBuckets(stores());
    }

    private boolean isMissing(GranaryConfig config) {
        return tier.isLocal() && Files.notExists(config.directory());
    }

    private String tierName(GranaryConfig config) {
        return tier.isLocal() ? config.directory().toString() : "the bucket";
    }

    private Optional<NearestEntry> nearest(GranaryConfig config, Id id) throws Exception {
        if (isMissing(config)) {
            return Optional.empty();
        }
        try (Place inventory = openTier(config)) {
            return NearestEntry.find(
                    inventory, id, tier.isLocal() ? MAX_COMPARED : MAX_COMPARED_IN_BUCKET);
        } catch (IOException e) {
            throw new CommandFailedException("the entries cannot be listed: " + e.getMessage());
        }
    }
}
