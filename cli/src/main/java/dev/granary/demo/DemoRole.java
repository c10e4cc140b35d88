package dev.granary.demo;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Primitive;
import dev.granary.cache.RestoreException;
import dev.granary.cache.constant.ConstantTensorCache;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.demo.DemoRoleResult.ConstantsResult;
import dev.granary.demo.DemoRoleResult.KernelResult;
import dev.granary.demo.DemoRoleResult.TuningResult;
import dev.granary.demo.kernels.DemoKernel;
import dev.granary.demo.kernels.KernelCheckResult;
import dev.granary.demo.kernels.SharedWeights;
import dev.granary.demo.kernels.TunedMatrixMultiply;
import dev.granary.gpu.DriverException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.LoadedKernels;
import dev.granary.gpu.opencl.OpenClConstants;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClException;
import dev.granary.gpu.plan.tuning.PlanSpace;
import dev.granary.gpu.plan.tuning.TunedPlan;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * One machine of the demo, run in a process of its own. It gets every kernel through Granary,
 * launches it and checks the results, and also the kernel of a tuned plan. With OpenCL, two
 * primitives then share constant weights. On a {@linkplain DeviceSimulation simulated device}
 * nothing is launched.
 */
public final class DemoRole {
    private static final long DATA_SEED = 20_260_101;

    private final String name;
    private final KernelEngine<?> engine;
    private final String device;
    private final List<DemoKernel> kernels;
    private final Consumer<String> progress;
    private final Optional<String> simulation;

    /**
     * Creates a machine.
     *
     * @param name its name in the results
     * @param engine an engine of its device, which stays open
     * @param device the device in one line
     * @param kernels its kernels, beside the tuned one
     * @param progress receives the name of each kernel before its lookup
     */
    public DemoRole(
            String name,
            KernelEngine<?> engine,
            String device,
            List<DemoKernel> kernels,
            Consumer<String> progress) {
        this.name = name;
        this.engine = engine;
        this.device = device;
        this.kernels = List.copyOf(kernels);
        this.progress = progress;
        this.simulation = DeviceSimulation.digest(System.getenv());
    }

    /**
     * Runs the role with a configuration.
     *
     * @throws ConfigException if the configuration is invalid
     */
    public DemoRoleResult run(GranaryConfig config) throws ConfigException {
        List<KernelResult> results = new ArrayList<>();
        int memoryHits = 0;
        try (Granary granary = Granary.open(config)) {
            granary.connect();
            double startMillis = ManagementFactory.getRuntimeMXBean().getUptime();
            for (DemoKernel kernel : kernels) {
                progress.accept(kernel.name());
                results.add(runKernel(kernel, granary, engine));
            }
            TuningResult tuning = null;
            if (simulation.isEmpty()) {
                progress.accept(TunedMatrixMultiply.NAME);
                tuning = tune(granary);
                memoryHits += isTunedInMemory(granary) ? 1 : 0;
            }
            for (DemoKernel kernel : kernels) {
                memoryHits += isInMemory(kernel, granary) ? 1 : 0;
            }
            ConstantsResult constants = ConstantsResult.NONE;
            if (engine instanceof OpenClEngine openCl && simulation.isEmpty()) {
                progress.accept("weights that two primitives share");
                constants = useConstants(granary, openCl);
            }
            granary.flush(Duration.ofMinutes(2));
            double millis =
                    results.stream().mapToDouble(KernelResult::readyMillis).sum();
            return new DemoRoleResult(
                    name,
                    simulation.isPresent() ? device + ", simulated" : device,
                    simulation.isEmpty(),
                    results,
                    tuning,
                    memoryHits,
                    constants,
                    startMillis,
                    millis);
        }
    }

    /** Gets the fastest plan of the space, then its kernel as any other one. */
    private TuningResult tune(Granary granary) {
        PlanSpace space = TunedMatrixMultiply.space();
        AtomicInteger tried = new AtomicInteger();
        try {
            LookupResult<TunedPlan> lookup = granary.plans()
                    .obtain(
                            TunedMatrixMultiply.tuner(engine)
                                    .listener((_, _, _) -> tried.incrementAndGet()),
                            space);
            TunedPlan tuned = lookup.primitive();
            KernelResult kernel =
                    runKernel(TunedMatrixMultiply.kernel(tuned.plan()), granary, engine);
            return new TuningResult(
                    kernel.later(lookup.took().toNanos() / 1e6),
                    word(lookup.source()),
                    tried.get(),
                    space.size(),
                    tuned.outcome().speedup());
        } catch (CompileException e) {
            KernelResult failure = new KernelResult(
                    TunedMatrixMultiply.NAME,
                    "failed",
                    0,
                    0,
                    false,
                    String.valueOf(e.getMessage()));
            return new TuningResult(failure, "failed", tried.get(), space.size(), 0);
        }
    }

    private boolean isTunedInMemory(Granary granary) {
        try {
            LookupResult<TunedPlan> again = granary.plans()
                    .obtain(TunedMatrixMultiply.tuner(engine), TunedMatrixMultiply.space());
            return again.source() == PrimitiveSource.MEMORY
                    && isInMemory(TunedMatrixMultiply.kernel(again.primitive().plan()), granary);
        } catch (CompileException e) {
            return false; // already reported by the first tuning
        }
    }

    private static String word(PrimitiveSource source) {
        return source.name().toLowerCase(Locale.ROOT);
    }

    private <P extends Primitive> KernelResult runKernel(
            DemoKernel kernel, Granary granary, KernelEngine<P> on) {
        long start = System.nanoTime();
        try {
            LookupResult<P> lookup = granary.obtain(on, descriptor(kernel));
            try (LoadedKernels loaded = on.load(lookup.primitive())) {
                if (simulation.isPresent()) {
                    loaded.createKernels();
                }
                long loadNanos = System.nanoTime() - start;
                KernelCheckResult check = simulation.isPresent()
                        ? new KernelCheckResult.Right() // there is nothing to compare
                        : kernel.verify(on, loaded, new SplittableRandom(DATA_SEED));
                double readyMillis = (loadNanos + loaded.firstLaunchTime().toNanos()) / 1e6;
                long bytes = lookup.primitive().getBinaries(BinaryKind.KERNEL).byteSize();
                String source = word(lookup.source());
                return switch (check) {
                    case KernelCheckResult.Right _ ->
                        new KernelResult(kernel.name(), source, bytes, readyMillis, true, "");
                    case KernelCheckResult.Wrong wrong ->
                        new KernelResult(
                                kernel.name(),
                                source,
                                bytes,
                                readyMillis,
                                false,
                                wrong.difference());
                };
            }
        } catch (CompileException | RestoreException | DriverException e) {
            double millis = (System.nanoTime() - start) / 1e6;
            return new KernelResult(
                    kernel.name(), "failed", 0, millis, false, String.valueOf(e.getMessage()));
        }
    }

    private KernelDescriptor descriptor(DemoKernel kernel) {
        return kernel.descriptor(engine.target(), simulation.orElse(""));
    }

    private static ConstantsResult useConstants(Granary granary, OpenClEngine engine) {
        String problem;
        try {
            KernelCheckResult check = SharedWeights.use(
                    engine,
                    new OpenClConstants(granary.constants(), engine),
                    descriptor -> engine.load(granary.primitive(engine, descriptor)),
                    new SplittableRandom(DATA_SEED));
            problem = switch (check) {
                case KernelCheckResult.Right _ -> "";
                case KernelCheckResult.Wrong wrong -> wrong.difference();
            };
        } catch (CompileException | RestoreException | OpenClException e) {
            problem = String.valueOf(e.getMessage());
        }
        ConstantTensorCache.Statistics statistics = granary.constants().statistics();
        return new ConstantsResult(
                statistics.made(),
                statistics.reused(),
                statistics.bytes(),
                problem.isEmpty(),
                problem);
    }

    private boolean isInMemory(DemoKernel kernel, Granary granary) {
        try {
            return granary.obtain(engine, descriptor(kernel)).source() == PrimitiveSource.MEMORY;
        } catch (CompileException e) {
            return false; // already reported by the first lookup
        }
    }
}
