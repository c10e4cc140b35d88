package dev.granary.cli.kernel;

import com.google.gson.JsonObject;

import dev.granary.cli.output.JsonOutput;
import dev.granary.cli.output.TextTable;
import dev.granary.cli.output.Units;
import dev.granary.coordinator.LookupResult;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.plans.tuning.PlanSpace;
import dev.granary.plans.tuning.TunedPlan;
import dev.granary.plans.tuning.TunedPlan.TuningOutcome;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.Optional;

/**
 * Report of a tuned plan, as text or JSON.
 *
 * @param space the space
 * @param result the plan with the time of its lookup
 * @param source the source of the plan, such as {@code tuned}
 * @param kernel the kernel of the plan
 * @param kernelSource the tier of the kernel; empty if it was not looked up
 */
record TuningReport(
        PlanSpace space,
        LookupResult<TunedPlan> result,
        String source,
        KernelDescriptor kernel,
        Optional<PrimitiveSource> kernelSource) {
    private static final double PERCENT = 100;

    private TuningOutcome outcome() {
        return result.primitive().outcome();
    }

    /** Returns the uncertainty of the speedup, as a fraction of it. */
    private double spread() {
        return (double) outcome().spreadPpb() / outcome().ratioPpb();
    }

    /** Returns a word such as {@code bucket}. */
    static String name(PrimitiveSource source) {
        return source.name().toLowerCase(Locale.ROOT);
    }

    void print(PrintWriter out) {
        TextTable table = new TextTable("parameter", "<value");
        outcome().parameters().values().forEach(table::row);
        table.print(out);
        out.println();
        out.println("source    " + source + ", in " + Units.time(result.took()));
        out.println("time      " + Units.time(outcome().time()) + ", the naive kernel "
                + Units.time(outcome().naiveTime()));
        out.println("speedup   "
                + String.format(
                        Locale.ROOT,
                        "%.2f, spread %.1f %% in %d rounds",
                        outcome().speedup(),
                        PERCENT * spread(),
                        outcome().rounds()));
        out.println("tried     " + Units.count(outcome().counts().tried()) + " of "
                + Units.plural(outcome().points(), "plan") + " in "
                + Units.time(outcome().elapsed()) + ", seed " + outcome().seed());
        out.println("          " + outcome().counts());
        out.println("revision  " + result.primitive().descriptor().revision());
        out.println("outcome   " + result.primitive().descriptor().getId());
        out.println("kernel    " + kernel.getId());
        kernelSource.ifPresent(source -> out.println("          " + name(source)));
        out.flush();
    }

    JsonObject json() {
        JsonObject parameters = new JsonObject();
        outcome().parameters().values().forEach(parameters::addProperty);
        JsonObject json = JsonOutput.object(
                "kernel",
                space.nest().name(),
                "from",
                source,
                "tookMillis",
                Units.millis(result.took()),
                "parameters",
                parameters,
                "nanos",
                outcome().time().toNanos(),
                "naiveNanos",
                outcome().naiveTime().toNanos(),
                "speedup",
                outcome().speedup(),
                "spread",
                spread(),
                "rounds",
                outcome().rounds(),
                "points",
                outcome().points(),
                "measured",
                outcome().counts().measured(),
                "slow",
                outcome().counts().slow(),
                "unsuitable",
                outcome().counts().unsuitable(),
                "refused",
                outcome().counts().refused(),
                "wrong",
                outcome().counts().wrong(),
                "seed",
                outcome().seed(),
                "elapsedMillis",
                Units.millis(outcome().elapsed()),
                "revision",
                result.primitive().descriptor().revision(),
                "outcomeId",
                result.primitive().descriptor().getId().toString(),
                "kernelId",
                kernel.getId().toString());
        kernelSource.ifPresent(source -> json.addProperty("kernelFrom", name(source)));
        return json;
    }
}
