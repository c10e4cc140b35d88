package dev.granary.benchmarks.plans;

import dev.granary.benchmarks.harness.Goal;
import dev.granary.benchmarks.harness.ReportSection;
import dev.granary.benchmarks.harness.ReportSection.Column;
import dev.granary.benchmarks.harness.Workspace;
import dev.granary.cache.CompileException;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.gpu.opencl.OpenClKernels;
import dev.granary.gpu.opencl.OpenClPrimitive;
import dev.granary.gpu.plan.KernelPlan;
import dev.granary.gpu.plan.tuning.PlanSpace;
import dev.granary.gpu.plan.tuning.PlanTuner;
import dev.granary.gpu.plan.tuning.TunedPlan;
import dev.granary.s3.embedded.EmbeddedS3;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Machines that share a bucket of a server in this process, each a {@link Granary} with a directory
 * of its own. The first one tunes and publishes. The others begin with empty directories, and are
 * measured until their first result. Not thread-safe.
 */
final class TunedFleet extends Workspace {
    private static final String BUCKET = "plans";
    private static final Duration FLUSH = Duration.ofMinutes(1);

    /** The number of lookups until a first result: of the outcome, and of its kernel. */
    private static final int LOOKUPS = 2;

    /** The number of unmeasured machines, during which the JVM compiles clients and server. */
    private static final int WARM_UP = 60;

    private final OpenClEngine engine;
    private final EmbeddedS3 server;
    private final Granary first;
    private final AtomicInteger triedByOthers = new AtomicInteger();
    private double slowestFromBucket; // of the rows, in relation to the kernel alone
    private double slowestFromDisk;
    private int others;

    TunedFleet(OpenClEngine engine, Path parent, PrintWriter progress)
            throws IOException, ConfigException {
        super(parent, "granary-plans-", progress);
        this.engine = engine;
        this.server = EmbeddedS3.start(null);
        server.createBucket(BUCKET);
        System.setProperty("aws.accessKeyId", server.accessKey());
        System.setProperty("aws.secretAccessKey", server.secretKey());
        System.setProperty("aws.region", "us-east-1");
        this.first = open(directory().resolve("first"));
    }

    /** A source of the plan of a kernel, such as a lookup. */
    private interface PlanSource {
        KernelPlan plan(Granary granary) throws CompileException;
    }

    private Granary open(Path machine) throws ConfigException {
        Granary granary = Granary.open(GranaryConfig.builder()
                .directory(machine)
                .bucket("s3://" + BUCKET + "/kernels")
                .endpoint(server.endpoint().toString())
                .build());
        granary.connect();
        return granary;
    }

    /** Tunes on the first machine. */
    TunedPlan tune(PlanTuner tuner, PlanSpace space) throws CompileException {
        return first.plans().plan(tuner, space);
    }

    /** Returns a table of {@link #addRow}. */
    static ReportSection section() {
        ReportSection section = new ReportSection(
                "second machine",
                "First result of a second machine, for which the first one has tuned; milliseconds",
                new Column("compile", "compiled", 1),
                new Column("bucket", "bucket", 2),
                new Column("bucketKernel", "its kernel", 2),
                new Column("disk", "disk", 2),
                new Column("diskKernel", "its kernel", 2));
        section.note("from the lookup of the plan to the end of the first launch, in a warm JVM."
                + " 'its kernel': the same for a plan that is known, so a restore alone.");
        return section;
    }

    /**
     * Publishes the kernel of a plan, and measures other machines until their first result: with
     * the bucket, and again from their disks.
     */
    void addRow(
            ReportSection section,
            ProductTurns turns,
            PlanTuner tuner,
            PlanSpace space,
            TunedPlan tuned,
            int rounds)
            throws Exception {
        launch(first.primitive(engine, descriptor(tuned.plan())), tuned.plan(), turns);
        flush(first);
        PlanTuner watched = tuner.listener((_, _, _) -> triedByOthers.incrementAndGet());
        while (others < WARM_UP) {
            firstResult(
                    directory().resolve("machine-" + others++),
                    PrimitiveSource.BUCKET,
                    turns,
                    granary -> granary.plans().plan(watched, space).plan());
        }
        double[] compile = new double[rounds];
        double[][] whole = new double[2][rounds];
        double[][] kernel = new double[2][rounds];
        for (int round = 0; round < rounds; round++) {
            long start = System.nanoTime();
            launch(engine.create(descriptor(tuned.plan())), tuned.plan(), turns);
            compile[round] = System.nanoTime() - start;
            Path one = directory().resolve("machine-" + others++);
            Path other = directory().resolve("machine-" + others++);
            for (int visit = 0; visit < whole.length; visit++) {
                PrimitiveSource source =
                        visit == 0 ? PrimitiveSource.BUCKET : PrimitiveSource.LOCAL;
                whole[visit][round] = firstResult(one, source, turns, granary -> granary.plans()
                        .plan(watched, space)
                        .plan());
                kernel[visit][round] = firstResult(other, source, turns, _ -> tuned.plan());
            }
        }
        section.row(
                turns.toString(),
                ProductTurns.median(compile) / 1e6,
                ProductTurns.median(whole[0]) / 1e6,
                ProductTurns.median(kernel[0]) / 1e6,
                ProductTurns.median(whole[1]) / 1e6,
                ProductTurns.median(kernel[1]) / 1e6);
        slowestFromBucket = Math.max(slowestFromBucket, ratio(whole[0], kernel[0]));
        slowestFromDisk = Math.max(slowestFromDisk, ratio(whole[1], kernel[1]));
    }

    private static double ratio(double[] nanos, double[] others) {
        return ProductTurns.median(nanos) / ProductTurns.median(others);
    }

    /** Adds the goals of second machines: they try no plan, and restore two entries. */
    void addGoals(ReportSection section) {
        section.goal(new Goal(
                "plans tried by second machines", Goal.Bound.AT_MOST, 0, triedByOthers.get()));
        section.goal(new Goal(
                "first result / its kernel alone, bucket, slowest row",
                Goal.Bound.AT_MOST,
                LOOKUPS,
                slowestFromBucket));
        section.goal(new Goal(
                "first result / its kernel alone, disk, slowest row",
                Goal.Bound.AT_MOST,
                LOOKUPS,
                slowestFromDisk));
    }

    /** Returns the time in nanoseconds from the lookup of a plan to the end of a launch. */
    private double firstResult(
            Path machine, PrimitiveSource expected, ProductTurns turns, PlanSource plans)
            throws Exception {
        try (Granary granary = open(machine)) {
            long start = System.nanoTime();
            KernelPlan plan = plans.plan(granary);
            LookupResult<OpenClPrimitive> kernel = granary.obtain(engine, descriptor(plan));
            launch(kernel.primitive(), plan, turns);
            double nanos = System.nanoTime() - start;
            if (kernel.source() != expected) {
                throw new IllegalStateException("The kernel came from " + kernel.source());
            }
            flush(granary);
            return nanos;
        }
    }

    private KernelDescriptor descriptor(KernelPlan plan) {
        return plan.descriptor(engine.target(), engine.device().limits());
    }

    private void launch(OpenClPrimitive primitive, KernelPlan plan, ProductTurns turns)
            throws Exception {
        try (OpenClKernels kernels = engine.load(primitive)) {
            turns.launch(kernels, plan);
        }
    }

    private static void flush(Granary granary) {
        if (!granary.flush(FLUSH)) {
            throw new IllegalStateException("A machine could not store or publish");
        }
    }

    @Override
    public void close() throws IOException {
        first.close();
        server.close();
        super.close();
    }
}
