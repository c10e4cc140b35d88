package dev.granary.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.WriteResult;
import dev.granary.testing.Race;

import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Repeated races for one key: the results of the racers' requests, and whether each race has one
 * winner whose body stays.
 */
final class WriteRaceReport {
    private static final int RACERS = 32;
    private static final int LIMIT = 100;

    private final ObjectStore store;
    private final String prefix;
    private final Map<String, Integer> outcomes = new TreeMap<>();
    private int failedRounds;

    WriteRaceReport(ObjectStore store, String prefix) {
        this.store = store;
        this.prefix = prefix;
    }

    /** Runs races to create. */
    WriteRaceReport create(int rounds) throws Exception {
        for (int i = 0; i < rounds; i++) {
            String key = prefix + "create/" + i;
            count(key, Race.run(RACERS, racer -> store.putIfAbsent(key, body(racer))));
        }
        return this;
    }

    /** Runs races to replace one version. */
    WriteRaceReport replace(int rounds) throws Exception {
        for (int i = 0; i < rounds; i++) {
            String key = prefix + "replace/" + i;
            if (store.putIfAbsent(key, body(RACERS)) instanceof WriteResult.Done first) {
                count(
                        key,
                        Race.run(
                                RACERS,
                                racer -> store.replaceIfMatch(key, first.etag(), body(racer))));
            } else {
                failedRounds++;
            }
        }
        return this;
    }

    private void count(String key, List<WriteResult> results) {
        results.forEach(result -> outcomes.merge(end(result), 1, Integer::sum));
        List<WriteResult> winners =
                results.stream().filter(WriteResult.Done.class::isInstance).toList();
        boolean stays = winners.size() == 1
                && store.get(key, LIMIT) instanceof GetResult.Found found
                && Arrays.equals(
                        body(results.indexOf(winners.getFirst())),
                        found.bytes().toArray(ValueLayout.JAVA_BYTE));
        failedRounds += stays ? 0 : 1;
    }

    private static String end(WriteResult result) {
        return switch (result) {
            case WriteResult.Done _ -> "done";
            case WriteResult.PreconditionFailed _ -> "failed precondition";
            case WriteResult.Conflict _ -> "conflict";
            case WriteResult.NotAllowed refused ->
                "not allowed (" + refused.failure().status() + ")";
            case WriteResult.NotSent _ -> "not sent";
            case WriteResult.Unknown unknown -> "unknown (" + unknown.failure().status() + ")";
        };
    }

    private static byte[] body(int number) {
        return ("racer " + number).getBytes(UTF_8);
    }

    @Override
    public String toString() {
        return outcomes + ", races without one winner whose body stays: " + failedRounds;
    }
}
