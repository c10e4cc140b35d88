package dev.granary.cli.kernel;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.EntryCatalog.Listed;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import dev.granary.cli.manifest.KernelManifest;
import dev.granary.cli.manifest.KernelSourceResolver;
import dev.granary.cli.manifest.KernelSpec;
import dev.granary.cli.option.DeviceOption;
import dev.granary.cli.output.ProgressLine;
import dev.granary.cli.output.Report;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.gpu.KernelDescriptor;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * Check of stored entries by compiling their kernels again: a compiler that makes the same binary
 * twice has made the stored one, too, unless somebody else did. Not thread-safe.
 */
public final class Recompilation {
    private static final Duration COMPILE_LIMIT = Duration.ofMinutes(10);
    private static final Path NONE = Path.of("");

    @Option(
            names = "--recompile",
            paramLabel = "N",
            description = "compile up to N kernels of --manifest that PLACE has again, and compare"
                    + " their binaries with the stored ones, instead of reading all entries")
    private int sample;

    @Option(
            names = "--manifest",
            paramLabel = "FILE",
            description = "the kernel manifest or recording for --recompile")
    private Path manifest = NONE;

    @Mixin
    private DeviceOption device = new DeviceOption();

    /** Result of a new compile for an entry. */
    private enum Verdict {
        /** The compiler made the stored binary again. */
        EQUAL,
        /** The compiler makes one binary, which is not the stored one. */
        DIFFERENT,
        /** The compiler makes another binary each time. */
        NOT_REPRODUCIBLE,
        FAILED
    }

    /** An entry of the sample. */
    private record Sampled(KernelSpec spec, KernelDescriptor kernel, Sha256 stored) {}

    /** The outcome for an entry of the sample; {@code failure} if it does not compile. */
    private record Recompiled(Sampled of, Verdict verdict, Optional<String> failure) {}

    public boolean isRequested() throws ConfigException {
        boolean isGiven = sample != 0;
        if (isGiven == manifest.equals(NONE) || (!isGiven && device.isGiven())) {
            throw new ConfigException("--recompile N and --manifest FILE need each other, and"
                    + " --device needs both");
        }
        if (sample < 0) {
            throw new ConfigException("--recompile must be a positive number, not " + sample);
        }
        return isGiven;
    }

    /**
     * Compiles the sample, and adds what differs to the report.
     *
     * @return whether each kernel compiles, to the stored binary if its compiler is reproducible
     */
    public boolean check(EntryCatalog catalog, Report report, PrintWriter err) throws Exception {
        List<KernelSpec> kernels = new ArrayList<>(KernelManifest.read(manifest));
        Collections.shuffle(kernels);
        List<Recompiled> all = new ArrayList<>();
        try (TemporaryDirectory temporary = new TemporaryDirectory("granary-verify-");
                PopulateEngines first = open(temporary.path().resolve("first"));
                PopulateEngines second = open(temporary.path().resolve("second"))) {
            for (int i = 0; i < first.all().size(); i++) {
                Engine<KernelDescriptor, ?> once = first.all().get(i);
                Engine<KernelDescriptor, ?> again = second.all().get(i); // of the same device
                Collection<Sampled> sampled = sample(catalog, kernels, once.target());
                AtomicInteger begun = new AtomicInteger();
                try (ProgressLine progress =
                        new ProgressLine(err, "compiling again", sampled.size())) {
                    all.addAll(sampled.parallelStream()
                            .map(each -> {
                                progress.at(begun.getAndIncrement(), each.kernel.name());
                                return recompiled(each, once, again);
                            })
                            .toList());
                }
            }
        }
        report.table("recompiled", all)
                .column("=target", each -> each.of.kernel.target().path())
                .column("~kernel:name", each -> each.of.kernel.name())
                .column("<result", Recompiled::verdict)
                .column("<options", each -> String.join(" ", each.of.spec.options()))
                .column("<id", each -> each.of.kernel.getId().hash())
                .column("-error", Recompiled::failure);
        all.forEach(each -> each.failure.ifPresent(
                text -> report.error("FAILED " + each.of.kernel.getId() + ": " + text)));
        addSummary(all, report);
        return all.stream()
                .map(Recompiled::verdict)
                .noneMatch(EnumSet.of(Verdict.DIFFERENT, Verdict.FAILED)::contains);
    }

    private static Recompiled recompiled(
            Sampled sampled, Engine<KernelDescriptor, ?> once, Engine<KernelDescriptor, ?> again) {
        try {
            Sha256 content = content(sampled.kernel, once);
            Verdict verdict = sampled.stored.equals(content)
                    ? Verdict.EQUAL
                    : content.equals(content(sampled.kernel, again))
                            ? Verdict.DIFFERENT
                            : Verdict.NOT_REPRODUCIBLE;
            return new Recompiled(sampled, verdict, Optional.empty());
        } catch (CompileException e) {
            return new Recompiled(sampled, Verdict.FAILED, Optional.of(e.reason()));
        }
    }

    private static Sha256 content(KernelDescriptor kernel, Engine<KernelDescriptor, ?> engine)
            throws CompileException {
        return Entry.contentHash(
                kernel.getId(), engine.create(kernel).getBinaries(BinaryKind.KERNEL));
    }

    private Collection<Sampled> sample(
            EntryCatalog catalog, List<KernelSpec> kernels, Target target) throws ConfigException {
        Map<Id, Sampled> sampled = new LinkedHashMap<>();
        for (KernelSpec kernel : kernels) {
            if (sampled.size() == sample) {
                break;
            }
            try {
                KernelDescriptor descriptor = KernelSourceResolver.descriptor(kernel, target);
                Id id = descriptor.getId();
                if (kernel.isFor(target.backend())
                        && !id.isEmpty()
                        && catalog.read(new Listed(target.path(), id.hash(), 0, 0))
                                instanceof LoadResult.Hit(var entry)) {
                    sampled.put(id, new Sampled(kernel, descriptor, entry.contentHash()));
                }
            } catch (IOException e) {
                throw new ConfigException(kernel.name() + ": " + e.getMessage());
            }
        }
        return sampled.values();
    }

    /** Opens compilers with an empty directory, without the caches of drivers. */
    private PopulateEngines open(Path directory) throws Exception {
        Files.createDirectory(directory);
        Map<String, String> variables = Map.of(
                "POCL_CACHE_DIR",
                Files.createDirectory(directory.resolve("pocl")).toString(),
                "NEO_CACHE_PERSISTENT",
                "0",
                "CUDA_CACHE_DISABLE",
                "1");
        return new PopulateEngines(device, List.of(), new PopulateEngines.OwnEngines())
                .open(
                        KernelRunner.geometries(KernelManifest.read(manifest)),
                        COMPILE_LIMIT,
                        directory,
                        variables);
    }

    /** Adds the number of each result, and the options whose kernels differ most often. */
    private static void addSummary(List<Recompiled> all, Report report) {
        Map<Verdict, Integer> counts = new TreeMap<>();
        Map<String, int[]> byOption = new TreeMap<>(); // equal, other
        for (Recompiled each : all) {
            counts.merge(each.verdict, 1, Integer::sum);
            int result = each.verdict == Verdict.EQUAL ? 0 : 1;
            each.of.spec.options().forEach(option -> byOption.computeIfAbsent(
                            option, _ -> new int[2])[result]++);
        }
        report.line(Units.plural(all.size(), "kernel") + ": "
                + (all.isEmpty()
                        ? "PLACE has none of the manifest's"
                        : counts.entrySet().stream()
                                .map(each -> each.getValue() + " " + Units.word(each.getKey()))
                                .collect(Collectors.joining(", "))));
        byOption.values().removeIf(tally -> tally[1] == 0);
        report.table("options", byOption.entrySet())
                .column("~option", Map.Entry::getKey)
                .column("equal", each -> each.getValue()[0])
                .column("other", each -> each.getValue()[1]);
        if (counts.containsKey(Verdict.DIFFERENT)) {
            report.problem("the compiler does not make the stored binaries: they come from another"
                    + " compiler or from somebody else; granary inspect shows their producer, and"
                    + " granary compact --without removes them");
        }
    }
}
