package dev.granary.benchmarks.restore;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.RestoreException;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.demo.Program;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.spirv.SpirvCompiler;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;

/**
 * Programs of the demo in one engine, each obtained in every way. They take turns in rounds, so
 * that all are measured in the same state of the JVM.
 */
final class RestoreTurns {
    /** The ways that restore, which take turns. */
    static final List<RestoreWay> RESTORES = List.of(
            RestoreWay.DRIVER,
            RestoreWay.LOCAL,
            RestoreWay.SIGNED,
            RestoreWay.GET_DRIVER,
            RestoreWay.BUCKET);

    private final KernelEngine engine;
    private final Optional<SpirvCompiler> frontEnd;
    private final Optional<String> simulation;
    private final int buildRounds;
    private final Map<Program, Stored> programs = new LinkedHashMap<>();

    /** A program with its binaries and its times. */
    private record Stored(
            KernelDescriptor descriptor, KernelBinaries binaries, RestoreTimes times) {}

    /** The caches of the lookups, and the reader of bare objects. */
    record Caches(Granary local, Granary requiring, Granary bucket, BareObjectReader objects) {}

    /**
     * Creates turns without a program.
     *
     * @param frontEnd a compiler to SPIR-V; empty if there is none, or if the device takes none
     * @param simulation the digest of a simulated device, which launches nothing; empty for a real
     *     one
     * @param buildRounds the number of times that each program is built, before it is stored
     */
    RestoreTurns(
            KernelEngine engine,
            Optional<SpirvCompiler> frontEnd,
            Optional<String> simulation,
            int buildRounds) {
        this.engine = engine;
        this.frontEnd = frontEnd;
        this.simulation = simulation;
        this.buildRounds = buildRounds;
    }

    /** Adds a program: builds it, and stores it through {@code filler}. */
    void build(Program kernel, Granary filler) throws Exception {
        KernelDescriptor descriptor = kernel.descriptor(engine.target(), simulation.orElse(""));
        RestoreTimes times = new RestoreTimes();
        for (int i = 0; i < buildRounds; i++) {
            times.record(RestoreWay.COMPILE, ready(kernel, () -> engine.create(descriptor)));
        }
        if (frontEnd.isPresent()) {
            buildFromSpirv(fromSpirv(descriptor, frontEnd.get()), kernel, times);
        }
        programs.put(kernel, new Stored(descriptor, store(filler, kernel, descriptor), times));
    }

    /** Returns the program that has the SPIR-V of a program's source. */
    private static KernelDescriptor fromSpirv(KernelDescriptor descriptor, SpirvCompiler frontEnd)
            throws CompileException {
        return KernelDescriptor.builder(descriptor.target(), descriptor.name())
                .spirv(frontEnd.compile(descriptor))
                .options(SpirvCompiler.driverOptions(descriptor))
                .entry(descriptor.entries().toArray(String[]::new))
                .build();
    }

    private void buildFromSpirv(KernelDescriptor spirv, Program kernel, RestoreTimes times)
            throws Exception {
        for (int i = 0; i < buildRounds; i++) {
            times.record(RestoreWay.SPIRV, ready(kernel, () -> engine.create(spirv)));
        }
    }

    /** Stores the program in all tiers of the cache, and returns its binaries. */
    private KernelBinaries store(Granary filler, Program kernel, KernelDescriptor descriptor)
            throws Exception {
        KernelProgram primitive = filler.primitive(engine, descriptor);
        ready(kernel, () -> primitive);
        KernelBinaries binaries = primitive.getBinaries(BinaryKind.KERNEL);
        if (!filler.flush(Duration.ofMinutes(1))) {
            throw new IllegalStateException("The tiers could not be filled");
        }
        return binaries;
    }

    /**
     * Restores every program in each way. Each program, and each round, begins with another way,
     * and every other goes backwards, since a way that reads what the one before it has read is
     * faster.
     */
    void restore(int round, Caches caches) throws Exception {
        int first = round;
        for (Map.Entry<Program, Stored> program : programs.entrySet()) {
            for (int i = 0; i < RESTORES.size(); i++) {
                int turn = first % 2 == 0 ? first + i : first - i;
                RestoreWay way = RESTORES.get(Math.floorMod(turn, RESTORES.size()));
                program.getValue()
                        .times()
                        .record(way, restore(way, program.getKey(), program.getValue(), caches));
            }
            first++;
        }
    }

    private double restore(RestoreWay way, Program kernel, Stored stored, Caches caches)
            throws Exception {
        return ready(
                kernel,
                switch (way) {
                    case LOCAL -> () -> lookup(caches.local, kernel, stored, PrimitiveSource.LOCAL);
                    case SIGNED ->
                        () -> lookup(caches.requiring, kernel, stored, PrimitiveSource.LOCAL);
                    case BUCKET ->
                        () -> lookup(caches.bucket, kernel, stored, PrimitiveSource.BUCKET);
                    case DRIVER -> () -> restore(stored);
                    case GET_DRIVER ->
                        () -> {
                            caches.objects.read(stored.descriptor().getId());
                            return restore(stored);
                        };
                    case COMPILE, SPIRV -> throw new IllegalArgumentException(way + " is a build");
                });
    }

    private KernelProgram restore(Stored stored) throws RestoreException {
        return engine.create(stored.descriptor(), stored.binaries(), BinaryKind.KERNEL);
    }

    private KernelProgram lookup(
            Granary granary, Program kernel, Stored stored, PrimitiveSource expected)
            throws Exception {
        var found = granary.lookup(engine, stored.descriptor());
        if (found.source() != expected) {
            throw new IllegalStateException(
                    kernel.name() + " came from " + found.source() + ", not " + expected);
        }
        return found.primitive();
    }

    /**
     * Returns the milliseconds until every kernel of the program has run once, or on a simulated
     * device until it can be launched.
     */
    private double ready(Program kernel, Callable<KernelProgram> way) throws Exception {
        long start = System.nanoTime();
        KernelProgram primitive = way.call();
        try (LoadedKernels live = engine.load(primitive)) {
            if (simulation.isPresent()) {
                live.createKernels();
                return (System.nanoTime() - start) / 1e6;
            }
            long loaded = System.nanoTime() - start;
            String difference = kernel.check(engine, live, new SplittableRandom(1));
            if (!difference.isEmpty()) {
                throw new IllegalStateException(
                        kernel.name() + " computes wrong results: " + difference);
            }
            return (loaded + live.firstLaunchTime().toNanos()) / 1e6;
        }
    }

    /** Returns the times of each program, by its name and in the order of the demo. */
    Map<String, RestoreTimes> times() {
        Map<String, RestoreTimes> times = new LinkedHashMap<>();
        programs.forEach((kernel, stored) -> times.put(kernel.name(), stored.times()));
        return times;
    }
}
