package dev.granary.demo;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.RestoreException;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.demo.MachineResult.ProgramResult;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.tuning.TunedPlan;
import dev.granary.plans.tuning.TunedPlans;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One machine of the demo. It gets each program through Granary, launches its kernels and checks
 * the results, then does the same with a tuned plan and, with OpenCL, with constant weights. On a
 * {@linkplain DriverVariables#simulation simulated device} it only loads the programs.
 */
final class Machine {
    private static final long SEED = 20_260_101;

    private final Granary granary;
    private final KernelEngine engine;
    private final Optional<String> simulation = DriverVariables.simulationDigest();
    private final List<ProgramResult> results = new ArrayList<>();
    private final AtomicInteger plansTried = new AtomicInteger();
    private String planFrom = "";
    private double speedup;
    private int memoryHits;

    Machine(Granary granary, KernelEngine engine) {
        this.granary = granary;
        this.engine = engine;
    }

    /**
     * Gets the programs, and publishes what it compiled.
     *
     * @param role the name of the machine in the result
     * @param device the device in one line
     */
    MachineResult run(String role, String device, List<Program> programs) {
        granary.connect();
        programs.forEach(program -> results.add(get(program)));
        double millis = results.stream().mapToDouble(ProgramResult::millis).sum();
        programs.forEach(this::getAgain);
        String constantProblem = "";
        if (simulation.isEmpty()) {
            results.add(tune());
            constantProblem = shareWeights();
        }
        granary.flush(Duration.ofMinutes(2));
        ConstantTensorCache.Statistics constants = granary.constants().statistics();
        long right = results.stream().filter(ProgramResult::isRight).count();
        return new MachineResult(
                new MachineResult.Summary(
                        role,
                        count(PrimitiveSource.COMPILED),
                        count(PrimitiveSource.BUCKET),
                        count(PrimitiveSource.LOCAL),
                        memoryHits,
                        planFrom,
                        plansTried.get(),
                        constants.made(),
                        constants.reused(),
                        constantProblem.isEmpty(),
                        simulation.isPresent() ? 0 : right,
                        millis),
                results,
                simulation.isPresent() ? device + ", simulated" : device,
                simulation.isEmpty(),
                speedup,
                constantProblem);
    }

    private ProgramResult get(Program program) {
        long start = System.nanoTime();
        try {
            LookupResult<KernelProgram> lookup = lookup(program);
            try (LoadedKernels kernels = engine.load(lookup.primitive())) {
                if (simulation.isPresent()) {
                    kernels.createKernels();
                }
                long loadNanos = System.nanoTime() - start;
                String problem = simulation.isPresent()
                        ? "" // there is nothing to compare
                        : program.check(engine, kernels, new SplittableRandom(SEED));
                return new ProgramResult(
                        program.name(),
                        word(lookup.source()),
                        lookup.primitive().getBinaries(BinaryKind.KERNEL).byteSize(),
                        (loadNanos + kernels.firstLaunchTime().toNanos()) / 1e6,
                        problem);
            }
        } catch (CompileException | RestoreException | DriverException e) {
            return failed(program.name(), e);
        }
    }

    /** Looks a program up once more, which should hit the memory. */
    private void getAgain(Program program) {
        try {
            memoryHits += lookup(program).source() == PrimitiveSource.MEMORY ? 1 : 0;
        } catch (CompileException e) {
            // already reported by the first lookup
        }
    }

    private LookupResult<KernelProgram> lookup(Program program) throws CompileException {
        return granary.lookup(engine, program.descriptor(engine.target(), simulation.orElse("")));
    }

    /** Gets the fastest plan of the space, then its program as any other one. */
    private ProgramResult tune() {
        try {
            LookupResult<TunedPlan> plan = new TunedPlans(granary)
                    .lookup(
                            Products.tuner(engine)
                                    .listener((_, _, _) -> plansTried.incrementAndGet()),
                            Products.SPACE);
            planFrom = word(plan.source());
            speedup = plan.primitive().outcome().speedup();
            Program program = Products.tuned(plan.primitive().plan());
            ProgramResult result = get(program);
            getAgain(program);
            return new ProgramResult(
                    result.name(),
                    result.source(),
                    result.bytes(),
                    result.millis() + plan.took().toNanos() / 1e6,
                    result.problem());
        } catch (CompileException e) {
            planFrom = "failed";
            return failed(Products.TUNED, e);
        }
    }

    private String shareWeights() {
        try {
            return engine instanceof OpenClEngine openCl
                    ? Products.shareWeights(granary, openCl, new SplittableRandom(SEED))
                    : "";
        } catch (CompileException | RestoreException | DriverException e) {
            return String.valueOf(e.getMessage());
        }
    }

    private long count(PrimitiveSource source) {
        return results.stream().filter(one -> one.source().equals(word(source))).count();
    }

    private static ProgramResult failed(String name, Exception failure) {
        return new ProgramResult(name, "failed", 0, 0, String.valueOf(failure.getMessage()));
    }

    private static String word(PrimitiveSource source) {
        return source.name().toLowerCase(Locale.ROOT);
    }
}
