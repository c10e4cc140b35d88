package dev.granary.it.crash;

import com.google.gson.JsonObject;
import java.util.EnumMap;
import java.util.Map;

/** What an examination found, counted by kind; all zeros where everything is as it should be. Not thread-safe. */
final class CrashFindings {
    private final Map<Kind, Long> counts = new EnumMap<>(Kind.class);

    /** What can be wrong. */
    enum Kind {
        /** An entry whose store was acknowledged is not there, or only in an older version. */
        LOST("acknowledged entries lost"),
        /** An entry has bytes that nobody stored under its id. */
        WRONG("wrong bytes"),
        /** An entry that is listed cannot be read. */
        DAMAGED("listed entries that are damaged"),
        /** An id has two entries. */
        DOUBLE("entries of one id"),
        /** The counts differ from what is listed. */
        DRIFT("counts that drifted"),
        /** The first store of the new process did not succeed: a lock was left. */
        STUCK("locks left"),
        /** There is more than the capacity after a sweep. */
        OVER_CAPACITY("over the capacity"),
        /** Files that nothing names, or bytes on the disk that nobody counts. */
        LEFT_OVER("left over");

        private final String text;

        Kind(String text) {
            this.text = text;
        }

        String text() {
            return text;
        }
    }

    void add(Kind kind, long count) {
        counts.merge(kind, count, Long::sum);
    }

    void addAll(CrashFindings other) {
        other.counts.forEach(this::add);
    }

    long count(Kind kind) {
        return counts.getOrDefault(kind, 0L);
    }

    boolean isClean() {
        return counts.values().stream().allMatch(count -> count == 0);
    }

    JsonObject json() {
        JsonObject json = new JsonObject();
        for (Kind kind : Kind.values()) {
            json.addProperty(kind.name(), count(kind));
        }
        return json;
    }

    static CrashFindings of(JsonObject json) {
        CrashFindings finding = new CrashFindings();
        for (Kind kind : Kind.values()) {
            finding.add(kind, json.get(kind.name()).getAsLong());
        }
        return finding;
    }
}
