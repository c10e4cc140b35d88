package dev.granary.plans.tuning;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Sha256;
import dev.granary.plans.tuning.PlanSpace.PlanParameters;
import dev.granary.plans.tuning.PlanTuner.TrialCounts;
import dev.granary.plans.tuning.PlanTuner.Verdict;
import dev.granary.plans.tuning.TunedPlan.TuningOutcome;

import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The stored form of a {@link TuningOutcome}: lines of text in a fixed order, each a name and a
 * value. Bytes that differ from what would be written are refused.
 */
final class OutcomeText {
    private static final String TITLE = "granary tuning 1";
    private static final String PARAMETER = "parameter ";
    private static final int MAX_BYTES = 1 << 20;

    private OutcomeText() {}

    static byte[] encode(TuningOutcome outcome) {
        StringBuilder text = new StringBuilder(TITLE).append('\n');
        outcome.parameters()
                .values()
                .forEach((name, value) -> line(text, "parameter", name + "=" + value));
        line(text, "source", outcome.source());
        line(text, "nanos", outcome.time().toNanos());
        line(text, "naive-nanos", outcome.naiveTime().toNanos());
        line(text, "ratio-ppb", outcome.ratioPpb());
        line(text, "spread-ppb", outcome.spreadPpb());
        line(text, "rounds", outcome.rounds());
        outcome.counts()
                .byVerdict()
                .forEach((verdict, count) -> line(text, verdict.toString(), count));
        line(text, "points", outcome.points());
        line(text, "seed", outcome.seed());
        line(text, "elapsed-nanos", outcome.elapsed().toNanos());
        return text.toString().getBytes(UTF_8);
    }

    private static void line(StringBuilder text, String name, Object value) {
        text.append(name).append(' ').append(value).append('\n');
    }

    /**
     * Returns the outcome of stored bytes. Safe for untrusted bytes.
     *
     * @throws IllegalArgumentException if they are not what {@link #encode} writes
     */
    static TuningOutcome decode(byte[] stored) {
        if (stored.length > MAX_BYTES) {
            throw new IllegalArgumentException("an outcome has at most " + MAX_BYTES + " bytes");
        }
        List<String> all = List.of(new String(stored, UTF_8).split("\n", -1));
        if (!all.getFirst().equals(TITLE)) {
            throw new IllegalArgumentException("the first line is not '" + TITLE + "'");
        }
        List<String> rest = all.subList(1, all.size());
        LinkedHashMap<String, String> parameters = new LinkedHashMap<>();
        for (String line : rest) {
            if (!line.startsWith(PARAMETER)) {
                break;
            }
            String[] parts = line.substring(PARAMETER.length()).split("=", 2);
            if (parts.length < 2 || parameters.putIfAbsent(parts[0], parts[1]) != null) {
                throw new IllegalArgumentException("a parameter has no value, or two");
            }
        }
        Iterator<String> lines = rest.subList(parameters.size(), rest.size()).iterator();
        TuningOutcome outcome = new TuningOutcome(
                new PlanParameters(parameters),
                Sha256.parse(value(lines, "source")),
                Duration.ofNanos(number(lines, "nanos")),
                Duration.ofNanos(number(lines, "naive-nanos")),
                number(lines, "ratio-ppb"),
                number(lines, "spread-ppb"),
                count(lines, "rounds"),
                counts(lines),
                count(lines, "points"),
                number(lines, "seed"),
                Duration.ofNanos(number(lines, "elapsed-nanos")));
        if (!Arrays.equals(encode(outcome), stored)) {
            throw new IllegalArgumentException("there is more than an outcome");
        }
        return outcome;
    }

    private static String value(Iterator<String> lines, String name) {
        String line = lines.hasNext() ? lines.next() : "";
        if (!line.startsWith(name + " ")) {
            throw new IllegalArgumentException("the line '" + name + "' is missing");
        }
        return line.substring(name.length() + 1);
    }

    private static long number(Iterator<String> lines, String name) {
        return Long.parseLong(value(lines, name));
    }

    private static TrialCounts counts(Iterator<String> lines) {
        Map<Verdict, Integer> counts = new EnumMap<>(Verdict.class);
        for (Verdict verdict : Verdict.values()) {
            counts.put(verdict, count(lines, verdict.toString()));
        }
        return new TrialCounts(counts);
    }

    private static int count(Iterator<String> lines, String name) {
        return Integer.parseInt(value(lines, name));
    }
}
