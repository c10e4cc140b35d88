package dev.granary.plans.tuning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Sha256;
import dev.granary.cache.contract.TestEntries;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.TestFleet;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.device.DriverTraits;
import dev.granary.gpu.opencl.NeedsPocl;
import dev.granary.gpu.opencl.OpenCl;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.plans.KernelPlan;
import dev.granary.plans.ParallelAxis;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.nest.KernelArray;
import dev.granary.plans.nest.LoopIndex;
import dev.granary.plans.nest.LoopNest;
import dev.granary.plans.tuning.PlanTuner.TuningSettings;
import dev.granary.plans.tuning.TunedPlan.TuningDescriptor;
import dev.granary.s3.contract.Fault;
import dev.granary.s3.contract.FaultPlan;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Tests of tuned plans in the tiers of several machines, with a real S3 server and PoCL. */
@NeedsPocl
class TunedPlansTest {
    private static final Duration LONG = Duration.ofMinutes(2);

    /** The ratio of a plan that no machine beats, and of one that every machine beats. */
    private static final long PERFECT = 1;

    private static final long BAD = Long.MAX_VALUE / 4;

    private final OpenClEngine engine = openPocl();
    private final PlanSpace space = space();
    private final TuningDescriptor descriptor = TuningDescriptor.of(space, engine.target());
    private final AtomicInteger trials = new AtomicInteger();
    private final TestFleet fleet;
    private Runnable duringTuning = () -> {};

    TunedPlansTest(@TempDir Path directory) throws Exception {
        fleet = new TestFleet(directory);
    }

    @AfterEach
    void close() throws Exception {
        engine.close();
        fleet.close();
    }

    private static OpenClEngine openPocl() {
        return OpenClEngine.open(OpenCl.devices().stream()
                .filter(device -> device.target().vendor().equals(DriverTraits.POCL))
                .findFirst()
                .orElseThrow());
    }

    /** A process that tunes with a driver which does not survive one of the plans. */
    static final class DiesInTrial {
        private DiesInTrial() {}

        public static void main(String[] arguments) throws Exception {
            try (OpenClEngine engine = openPocl();
                    Granary granary = Granary.open(GranaryConfig.builder()
                            .directory(Path.of(arguments[0]))
                            .build())) {
                KernelPlan deadly = arguments[1].equals("naive")
                        ? space().naive()
                        : space().plan(space().point(Integer.parseInt(arguments[1])));
                KernelEngine dying = new DyingEngine(
                        engine,
                        deadly.descriptor(engine.target(), engine.device().limits())
                                .getId());
                TunedPlan tuned = new TunedPlans(granary)
                        .plan(
                                PlanTuner.of(
                                        dying,
                                        engine.device().limits(),
                                        TuningSettings.of(LONG, 1).rounds(1)),
                                space());
                System.out.println(tuned.outcome().counts());
            }
        }
    }

    private static ChildJvm.Result tuneInProcess(Path directory, String deadly) throws Exception {
        return ChildJvm.of(DiesInTrial.class).shortLived().run(directory.toString(), deadly);
    }

    /** Two plans of a copy of 64 elements. */
    private static PlanSpace space() {
        LoopIndex i = LoopIndex.of("i");
        KernelArray x = KernelArray.input("X", ElementType.FLOAT, 64);
        KernelArray y = KernelArray.output("Y", ElementType.FLOAT, 64);
        LoopNest nest = LoopNest.named("copy").loop(i, 64).logic(y.at(i).set(x.at(i)));
        return PlanSpace.of(nest).parameter("tile", 4, 8).plans(values -> KernelPlan.of(
                        nest.schedule().split(i, values.number("tile")))
                .bind(i, ParallelAxis.GROUP_X)
                .bind(i.inner(), ParallelAxis.ITEM_X));
    }

    private PlanTuner tuner() {
        return PlanTuner.of(
                        engine,
                        engine.device().limits(),
                        TuningSettings.of(LONG, TestSeed.VALUE).rounds(1))
                .listener((_, _, _) -> {
                    trials.incrementAndGet();
                    duringTuning.run();
                    duringTuning = () -> {};
                });
    }

    private Granary open(String machine) throws Exception {
        // hits are expected, however busy the machine is
        return Granary.open(fleet.config(machine).bucketWait(LONG).build());
    }

    /** Obtains the plan on a machine, and closes its cache when everything is published. */
    private LookupResult<TunedPlan> lookup(String machine) throws Exception {
        try (Granary granary = open(machine)) {
            LookupResult<TunedPlan> result = new TunedPlans(granary).lookup(tuner(), space);
            assertTrue(granary.flush(LONG));
            return result;
        }
    }

    /** Returns the stored outcome with another ratio and tile, as of another machine. */
    private Entry entry(int revision, int point, long ratio) {
        String source = Sha256.of(space.plan(space.point(point)).source().getBytes(UTF_8))
                .hex();
        String text = "granary tuning 1\nparameter " + space.point(point) + "\nsource " + source
                + "\nnanos 1\nnaive-nanos 1\nratio-ppb " + ratio + "\nspread-ppb 0\nrounds 1\n"
                + "measured 1\nslow 0\nunsuitable 0\nrefused 0\nwrong 0\npoints 2\nseed 5\n"
                + "elapsed-nanos 1\n";
        return entry(revision, text);
    }

    private Entry entry(int revision, String text) {
        return Entry.of(
                descriptor.revision(revision).getId(),
                KernelBinaries.of(text.getBytes(UTF_8)),
                Duration.ofSeconds(1),
                new EntryMetadata("0", "other", Instant.EPOCH, List.of(), List.of(), ""));
    }

    private Optional<TunedPlan> stored(String machine) throws Exception {
        try (Granary granary = open(machine)) {
            return new TunedPlans(granary).find(space, engine.target());
        }
    }

    private static long ratio(Optional<TunedPlan> plan) {
        return plan.orElseThrow().outcome().ratioPpb();
    }

    @Test
    @DisplayName("the second machine tunes nothing, nor does a later process of the first one")
    void once() throws Exception {
        LookupResult<TunedPlan> first = lookup("one");
        assertEquals(PrimitiveSource.COMPILED, first.source());
        assertEquals(2, trials.get());
        LookupResult<TunedPlan> second = lookup("two");
        assertEquals(PrimitiveSource.BUCKET, second.source());
        assertEquals(first.primitive().outcome(), second.primitive().outcome());
        assertEquals(first.primitive().plan(), second.primitive().plan());
        try (Granary offline = Granary.open(fleet.config("two").offline().build())) {
            assertEquals(
                    PrimitiveSource.LOCAL,
                    new TunedPlans(offline).lookup(tuner(), space).source());
            assertEquals(
                    PrimitiveSource.MEMORY,
                    new TunedPlans(offline).lookup(tuner(), space).source());
            assertEquals(
                    first.primitive().plan(),
                    new TunedPlans(offline).plan(tuner(), space).plan());
        }
        assertEquals(2, trials.get(), "tuned again");
        assertEquals(
                first.primitive().getBinaries(BinaryKind.KERNEL),
                stored("three").orElseThrow().getBinaries(BinaryKind.KERNEL));
    }

    @Test
    @DisplayName("a local outcome ends the search: nothing is requested from the bucket")
    void localOutcome() throws Exception {
        lookup("one");
        fleet.requests();
        try (Granary granary = open("one")) {
            LookupResult<TunedPlan> found = new TunedPlans(granary).lookup(tuner(), space);
            assertEquals(PrimitiveSource.LOCAL, found.source());
        }
        assertEquals(List.of(), fleet.requests());
    }

    @Test
    @DisplayName("if two machines tune at the same time, the first outcome in the bucket stays")
    void atTheSameTime() throws Exception {
        duringTuning = () -> fleet.publishUnpacked(List.of(entry(0, 0, BAD)));
        assertEquals(PrimitiveSource.COMPILED, lookup("one").source());
        assertEquals(BAD, ratio(stored("two")));
        assertEquals(PrimitiveSource.BUCKET, lookup("three").source());
        assertEquals(2, trials.get(), "tuned again");
    }

    @Test
    @DisplayName("if a rule has removed revision 0 before a later one, that is used without a"
            + " tuning, and revision 0 is published again")
    void firstRevisionExpired() throws Exception {
        fleet.publishUnpacked(List.of(entry(1, 0, PERFECT)));
        assertEquals(PERFECT, ratio(stored("finder")));
        assertEquals(PERFECT, ratio(Optional.of(lookup("one").primitive())));
        assertEquals(0, trials.get(), "tuned");
        assertEquals(2, fleet.keys("/e/").size());
        assertEquals(PrimitiveSource.BUCKET, lookup("two").source());
    }

    @Test
    @DisplayName("two machines that write a revision at once: the first one stays")
    void conflict() throws Exception {
        fleet.publishUnpacked(List.of(entry(0, 0, BAD)));
        String key = descriptor.revision(1).getId().hash().hex();
        fleet.plan(FaultPlan.once(
                request ->
                        request.operation().startsWith("PUT") && request.key().contains(key),
                0,
                new Fault.Meanwhile(() -> fleet.publishUnpacked(List.of(entry(1, 1, PERFECT))))));
        try (Granary granary = open("one")) {
            new TunedPlans(granary).tuneAgain(tuner(), space);
            assertTrue(granary.flush(LONG));
        }
        assertEquals(PERFECT, ratio(stored("two")));
        assertEquals(1, stored("two").orElseThrow().descriptor().revision());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("a further tuning replaces the stored outcome only if it is better")
    void again() throws Exception {
        fleet.publishUnpacked(List.of(entry(0, 0, BAD)));
        try (Granary granary = open("one")) {
            TunedPlan better = new TunedPlans(granary).tuneAgain(tuner(), space);
            assertEquals(TunedPlan.Origin.COMPILED, better.origin());
            assertEquals(
                    better.outcome(),
                    new TunedPlans(granary).plan(tuner(), space).outcome());
            assertTrue(granary.flush(LONG));
        }
        assertEquals(1, stored("two").orElseThrow().descriptor().revision());
        fleet.publishUnpacked(List.of(entry(2, 0, PERFECT)));
        try (Granary granary = open("one")) {
            assertEquals(
                    PERFECT,
                    new TunedPlans(granary).tuneAgain(tuner(), space).outcome().ratioPpb());
            assertTrue(granary.flush(LONG));
        }
        assertEquals(3, fleet.keys("/e/").size());
        try (Granary alone = Granary.open(fleet.config("alone").offline().build())) {
            TunedPlan own = new TunedPlans(alone).tuneAgain(tuner(), space);
            assertTrue(alone.flush(LONG));
            assertEquals(
                    own.outcome(),
                    new TunedPlans(alone)
                            .find(space, engine.target())
                            .orElseThrow()
                            .outcome());
        }
        assertEquals(6, trials.get());
    }

    @Test
    @DisplayName("Plans are kept in the memory tier only: with its capacity 0, a better outcome of"
            + " another process of the machine is used at once")
    void noOtherMemory() throws Exception {
        fleet.publishUnpacked(List.of(entry(0, 0, BAD)));
        try (Granary granary = open("one")) {
            granary.setPrimitiveCacheCapacity(0);
            TunedPlans plans = new TunedPlans(granary);
            assertEquals(BAD, ratio(Optional.of(plans.plan(tuner(), space))));
            assertTrue(granary.flush(LONG));
            TunedPlan better;
            try (Granary other = open("one")) {
                better = new TunedPlans(other).tuneAgain(tuner(), space);
                assertTrue(other.flush(LONG));
            }
            assertEquals(better.outcome(), plans.plan(tuner(), space).outcome());
        }
    }

    @Test
    @DisplayName("a stored outcome that is none, or whose plan is not in the space, is not used")
    void foreign() throws Exception {
        Entry sound = entry(1, 1, BAD);
        String text = new String(sound.binaries().toByteArrays().getFirst(), UTF_8);
        fleet.publishUnpacked(List.of(entry(0, "nonsense")));
        LookupResult<TunedPlan> tuned = lookup("one");
        assertEquals(PrimitiveSource.COMPILED, tuned.source());
        assertEquals(2, trials.get());
        fleet.publishUnpacked(List.of(entry(1, text.replace("tile=8", "tile=16"))));
        fleet.publishUnpacked(List.of(entry(2, text.replace("tile=8", "tile=4"))));
        assertEquals(tuned.primitive().outcome(), stored("one").orElseThrow().outcome());
        assertNotEquals(16, stored("one").orElseThrow().outcome().parameters().number("tile"));
    }

    @Test
    @DisplayName("a plan whose trial ended a process is not tried for a day, the others are")
    void ended(@TempDir Path directory) throws Exception {
        assertEquals(DyingEngine.DEATH, tuneInProcess(directory, "1").exitCode());
        ChildJvm.Result next = tuneInProcess(directory, "1");
        assertEquals(0, next.exitCode());
        assertEquals(
                "1 measured, 0 slow, 0 unsuitable, 1 refused, 0 wrong",
                next.output().strip());
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("if the trial of the naive plan ended a process, a tuning ends with that")
    void endedByNaive(@TempDir Path directory) throws Exception {
        assertEquals(DyingEngine.DEATH, tuneInProcess(directory, "naive").exitCode());
        try (Granary granary =
                Granary.open(GranaryConfig.builder().directory(directory).build())) {
            CompileException e = assertThrows(
                    CompileException.class, () -> new TunedPlans(granary).plan(tuner(), space));
            assertEquals(
                    "The naive plan of copy is not tried: a process ended during its trial",
                    e.getMessage());
        }
    }

    @Test
    @Tag("exhaustive")
    @DisplayName("with the cache disabled, nothing is stored")
    void disabled() throws Exception {
        try (Granary granary = open("one")) {
            granary.setEnabled(false);
            new TunedPlans(granary).plan(tuner(), space);
            new TunedPlans(granary).tuneAgain(tuner(), space);
        }
        assertEquals(4, trials.get());
        assertTrue(stored("one").isEmpty());
    }

    @Test
    @DisplayName("After the close of their Granary, each call of the plans throws")
    void closed() throws Exception {
        Granary granary = open("one");
        TunedPlans plans = new TunedPlans(granary);
        granary.close();
        assertThrows(IllegalStateException.class, () -> plans.find(space, TestEntries.TARGET));
    }
}
