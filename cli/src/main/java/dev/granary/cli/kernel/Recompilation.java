package dev.granary.cli.kernel;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
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

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
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
        FAILED;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /** An entry of the sample. */
    private record Sampled(List<String> options, KernelDescriptor kernel, Sha256 stored) {
        Id id() {
            return kernel.getId();
        }
    }

    /** Returns true if it was requested. */
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
        Map<Id, Sampled> sampled = new LinkedHashMap<>();
        Map<Id, String> failures = new ConcurrentHashMap<>();
        Map<Id, Sha256> once;
        Map<Id, Sha256> twice;
        try (TemporaryDirectory temporary = new TemporaryDirectory("granary-verify-")) {
            once = compile(
                    target -> sample(catalog, kernels, target, sampled),
                    temporary.path().resolve("first"),
                    failures,
                    err);
            List<Sampled> others = sampled.values().stream()
                    .filter(each ->
                            once.containsKey(each.id()) && !each.stored.equals(once.get(each.id())))
                    .toList();
            twice = others.isEmpty()
                    ? Map.of()
                    : compile(
                            target -> others.stream()
                                    .filter(each -> each.id().target().equals(target))
                                    .toList(),
                            temporary.path().resolve("second"),
                            failures,
                            err);
        }
        Map<Verdict, Integer> counts = new TreeMap<>();
        Map<Id, Verdict> verdicts = new HashMap<>();
        Map<String, int[]> byOption = new TreeMap<>(); // equal, other
        for (Sampled each : sampled.values()) {
            Verdict verdict = verdict(each.stored, once.get(each.id()), twice.get(each.id()));
            counts.merge(verdict, 1, Integer::sum);
            verdicts.put(each.id(), verdict);
            for (String option : each.options) {
                byOption.computeIfAbsent(option, _ -> new int[2])[
                        verdict == Verdict.EQUAL ? 0 : 1]++;
            }
        }
        report.table("recompiled", sampled.values())
                .column("=target", each -> each.id().target().path())
                .column("~kernel:name", each -> each.kernel.name())
                .column("<result", each -> verdicts.get(each.id()))
                .column("<options", each -> String.join(" ", each.options))
                .column("<id", each -> each.id().hash())
                .column("-error", each -> failures.get(each.id()));
        failures.forEach((id, text) -> report.error("FAILED " + id + ": " + text));
        addSummary(counts, byOption, report);
        return !counts.containsKey(Verdict.DIFFERENT) && !counts.containsKey(Verdict.FAILED);
    }

    private static Verdict verdict(Sha256 stored, @Nullable Sha256 once, @Nullable Sha256 twice) {
        if (once == null) {
            return Verdict.FAILED;
        }
        if (stored.equals(once)) {
            return Verdict.EQUAL;
        }
        if (twice == null) {
            return Verdict.FAILED;
        }
        return once.equals(twice) ? Verdict.DIFFERENT : Verdict.NOT_REPRODUCIBLE;
    }

    /** Returns kernels that the place has, with the hashes of their stored content. */
    private List<Sampled> sample(
            EntryCatalog catalog, List<KernelSpec> kernels, Target target, Map<Id, Sampled> all)
            throws ConfigException {
        List<Sampled> sampled = new ArrayList<>();
        for (KernelSpec kernel : kernels) {
            if (sampled.size() == sample) {
                break;
            }
            try {
                KernelDescriptor descriptor = KernelSourceResolver.descriptor(kernel, target);
                Id id = descriptor.getId();
                if (kernel.isFor(target.backend()) && !id.isEmpty() && !all.containsKey(id)) {
                    LoadResult read = catalog.read(
                            new EntryCatalog.Listed(id.target().path(), id.hash(), 0, 0));
                    if (read instanceof LoadResult.Hit(var entry)) {
                        sampled.add(new Sampled(kernel.options(), descriptor, entry.contentHash()));
                        all.put(id, sampled.getLast());
                    }
                }
            } catch (IOException e) {
                throw new ConfigException(kernel.name() + ": " + e.getMessage());
            }
        }
        return sampled;
    }

    /** The kernels to compile for a target. */
    @FunctionalInterface
    private interface Selection {
        List<Sampled> of(Target target) throws ConfigException;
    }

    /**
     * Compiles kernels in an empty directory, without the caches of drivers, and returns the
     * hashes of their content.
     */
    private Map<Id, Sha256> compile(
            Selection selection, Path directory, Map<Id, String> failures, PrintWriter err)
            throws Exception {
        Files.createDirectory(directory);
        Map<String, String> variables = Map.of(
                "POCL_CACHE_DIR",
                Files.createDirectory(directory.resolve("pocl")).toString(),
                "NEO_CACHE_PERSISTENT",
                "0",
                "CUDA_CACHE_DISABLE",
                "1");
        Map<Id, Sha256> contents = new ConcurrentHashMap<>();
        try (PopulateEngines engines = new PopulateEngines(
                        device, List.of(), new PopulateEngines.OwnEngines())
                .open(
                        KernelRunner.geometries(KernelManifest.read(manifest)),
                        COMPILE_LIMIT,
                        directory,
                        variables)) {
            for (Engine<KernelDescriptor, ?> engine : engines.all()) {
                List<Sampled> sampled = selection.of(engine.target());
                try (ProgressLine progress =
                        new ProgressLine(err, "compiling again", sampled.size())) {
                    sampled.parallelStream().forEach(each -> {
                        progress.at(contents.size(), each.kernel.name());
                        try {
                            KernelBinaries compiled =
                                    engine.create(each.kernel).getBinaries(BinaryKind.KERNEL);
                            contents.put(each.id(), Entry.contentHash(each.id(), compiled));
                        } catch (CompileException e) {
                            failures.put(each.id(), e.reason());
                        }
                    });
                }
            }
        }
        return contents;
    }

    /** Adds the number of each result, and the options whose kernels differ most often. */
    private static void addSummary(
            Map<Verdict, Integer> counts, Map<String, int[]> byOption, Report report) {
        int all = counts.values().stream().mapToInt(Integer::intValue).sum();
        report.line(Units.plural(all, "kernel") + ": "
                + (all == 0
                        ? "PLACE has none of the manifest's"
                        : counts.entrySet().stream()
                                .map(each -> each.getValue() + " " + each.getKey())
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
