package dev.granary.it.crash;

import com.google.gson.JsonObject;

import java.util.EnumMap;
import java.util.Map;

/** Findings of an examination, counted by kind; all zero if nothing is wrong. Not thread-safe. */
final class CrashFindings {
    private final Map<Kind, Long> counts = new EnumMap<>(Kind.class);

    /** The kinds of findings. */
    enum Kind {
        /** An acknowledged entry is missing, or has an older version. */
        LOST("acknowledged entries lost"),
        /** An entry has bytes that were never stored under its id. */
        WRONG("wrong bytes"),
        /** A listed entry cannot be read. */
        DAMAGED("listed entries that are damaged"),
        /** The counts differ from the listing. */
        DRIFT("counts that drifted"),
        /** The first store or sweep of the new process failed. */
        STUCK("stores or sweeps that failed"),
        /** The usage exceeds the capacity after a sweep, or by too much before it. */
        OVER_CAPACITY("over the capacity"),
        /** There are files other than entries. */
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
