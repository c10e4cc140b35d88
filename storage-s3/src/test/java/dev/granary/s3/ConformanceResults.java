package dev.granary.s3;

import dev.granary.s3.contract.Deviation;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The results of the conformance suite, collected while its checks run. */
final class ConformanceResults implements TestExecutionListener {
    /** The result of one check through one client. */
    sealed interface Outcome {
        /** The server behaves like Amazon S3. */
        record Ok() implements Outcome {}

        /** The server has a known deviation. */
        record Deviates() implements Outcome {}

        /** The server has an unknown deviation. */
        record Fails(String message) implements Outcome {}
    }

    private final Map<String, Map<String, Outcome>> outcomes = new LinkedHashMap<>();
    private final Map<TestIdentifier, Set<Deviation>> met = new HashMap<>();
    private final Set<Deviation> deviations = EnumSet.noneOf(Deviation.class);
    private String column = "";

    /** Starts a block of checks, through one client. */
    void begin(String name) {
        column = name;
    }

    @Override
    public void reportingEntryPublished(TestIdentifier test, ReportEntry entry) {
        String deviation = entry.getKeyValuePairs().get(Deviation.class.getSimpleName());
        if (deviation != null) {
            met.computeIfAbsent(test, _ -> EnumSet.noneOf(Deviation.class))
                    .add(Deviation.valueOf(deviation));
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        boolean failed = result.getStatus() != TestExecutionResult.Status.SUCCESSFUL;
        if (!test.isTest() && !failed) {
            return;
        }
        Set<Deviation> known = met.getOrDefault(test, Set.of());
        Outcome outcome = failed
                ? new Outcome.Fails(message(result))
                : known.isEmpty() ? new Outcome.Ok() : new Outcome.Deviates();
        if (outcome instanceof Outcome.Deviates) {
            deviations.addAll(known);
        }
        outcomes.computeIfAbsent(test.getDisplayName(), _ -> new HashMap<>()).put(column, outcome);
    }

    private static String message(TestExecutionResult result) {
        String text = result.getThrowable()
                .map(thrown -> thrown instanceof AssertionError
                        ? String.valueOf(thrown.getMessage())
                        : thrown.toString())
                .orElse(result.getStatus().toString());
        return text.lines().findFirst().orElse("");
    }

    /** Returns the names of the checks that ran through any of these clients. */
    List<String> checks(List<String> columns) {
        return outcomes.entrySet().stream()
                .filter(check -> columns.stream().anyMatch(check.getValue()::containsKey))
                .map(Map.Entry::getKey)
                .sorted(Comparator.naturalOrder())
                .toList();
    }

    /** Returns the result of a check in one word. */
    String word(String check, String client) {
        return switch (outcomes.getOrDefault(check, Map.of()).get(client)) {
            case Outcome.Ok _ -> "ok";
            case Outcome.Deviates _ -> "deviates";
            case Outcome.Fails _ -> "fails";
            case null -> "-";
        };
    }

    /** Returns each failure in one line. */
    List<String> failures() {
        List<String> failures = new ArrayList<>();
        outcomes.forEach((check, columns) -> columns.forEach((client, outcome) -> {
            if (outcome instanceof Outcome.Fails fails) {
                failures.add(check + " (" + client + "): " + fails.message());
            }
        }));
        return failures;
    }

    /** Returns the known deviations that checks have confirmed. */
    Set<Deviation> deviations() {
        return deviations;
    }
}
