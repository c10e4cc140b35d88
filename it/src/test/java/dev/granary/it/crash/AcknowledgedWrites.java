package dev.granary.it.crash;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Record of the reports of all processes: last acknowledged and last begun version of each key, and
 * errors. Thread-safe.
 */
final class AcknowledgedWrites {
    static final String READY = "ready";
    static final String BEGUN = "begun";
    static final String ACKNOWLEDGED = "acknowledged";
    static final String FAILED = "failed";
    static final String HIT = "hit";
    static final String MISSED = "missed";
    static final String WRONG = "wrong";
    static final String EVICTED = "evicted";

    private static final int EXAMPLES = 5;

    private final Map<String, Known> keys = new TreeMap<>();
    private final Map<String, Long> counts = new TreeMap<>();
    private final List<String> examples = new ArrayList<>();

    /**
     * The versions of a key.
     *
     * @param acknowledged the last version that was acknowledged; 0 if none was
     * @param begun the last version that a process began to store
     */
    record Known(long acknowledged, long begun) {
        static final Known NOTHING = new Known(0, 0);
    }

    synchronized void note(String line) {
        String[] words = line.split(" ", 3);
        counts.merge(words[0], 1L, Long::sum);
        switch (words[0]) {
            case BEGUN ->
                keys.merge(
                        words[1],
                        new Known(0, Long.parseLong(words[2])),
                        (old, now) ->
                                new Known(old.acknowledged(), Math.max(old.begun(), now.begun())));
            case ACKNOWLEDGED ->
                keys.merge(
                        words[1],
                        new Known(Long.parseLong(words[2]), 0),
                        (old, now) -> new Known(
                                Math.max(old.acknowledged(), now.acknowledged()), old.begun()));
            case FAILED, MISSED, WRONG -> addExample(line);
            default -> {}
        }
    }

    /** Adds an example, up to a limit for each kind. */
    private void addExample(String line) {
        String kind = line.substring(0, line.indexOf(' '));
        if (examples.stream().filter(example -> example.startsWith(kind)).count() < EXAMPLES) {
            examples.add(line);
        }
    }

    synchronized long count(String kind) {
        return counts.getOrDefault(kind, 0L);
    }

    /** Returns a copy of the versions of all keys. */
    synchronized Map<String, Known> keys() {
        return new TreeMap<>(keys);
    }

    /** Returns a version lower than every version still to be stored. */
    synchronized long lastVersion() {
        return keys.values().stream().mapToLong(Known::begun).max().orElse(0);
    }

    synchronized List<String> examples() {
        return List.copyOf(examples);
    }
}
