package dev.granary.coordinator.admin;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.Target;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The steps of a lookup that a process would make now, and their outcome. The memory tier is not
 * part of it, since each process has its own.
 *
 * @param id the id; empty if the kernel is not cacheable
 * @param namespaces the targets whose entries the lookup may use, in the order of the search
 * @param answers the answers of the tiers in the order of the search
 * @param claim the claim of this machine; empty if the lookup does not get so far
 * @param outcome the outcome
 */
public record LookupExplanation(
        Id id,
        List<Target> namespaces,
        List<TierAnswer> answers,
        Optional<ClaimAnswer> claim,
        Outcome outcome) {
    /** Copies the lists. */
    public LookupExplanation {
        namespaces = List.copyOf(namespaces);
        answers = List.copyOf(answers);
    }

    /**
     * The answer of one tier in one namespace.
     *
     * @param tier {@code local}, or the name of the bucket
     * @param namespace the target of the entry that was searched
     * @param result the answer
     */
    public record TierAnswer(String tier, Target namespace, Result result) {}

    /** The answer of a tier, judged as a lookup does. */
    public sealed interface Result {
        /**
         * A verified entry that a lookup gives to the driver.
         *
         * @param place the place in the tier
         * @param compatibility the judgement of its container
         */
        record Usable(Entry entry, String place, BinaryCompatibility compatibility)
                implements Result {}

        /**
         * A verified entry that a lookup does not use, since it is in quarantine.
         *
         * @param reason the reason in one line
         */
        record Quarantined(Entry entry, String place, String reason) implements Result {}

        /**
         * A verified entry that a lookup discards: its container names another device, or is
         * malformed.
         *
         * @param reason the reason in one line
         */
        record Incompatible(Entry entry, String place, String reason) implements Result {}

        /**
         * No entry.
         *
         * @param place the place that was searched
         */
        record Absent(String place) implements Result {}

        /**
         * Stored bytes that failed a check.
         *
         * @param kind the kind of damage
         * @param detail the place and nature of the damage
         */
        record Damaged(DamageKind kind, String detail) implements Result {}

        /**
         * No answer.
         *
         * @param cause the reason
         */
        record Unavailable(String cause) implements Result {}
    }

    /**
     * The state of the claim of this machine on the id.
     *
     * @param state the state
     * @param detail what it means for the lookup, in one line
     */
    public record ClaimAnswer(ClaimState state, String detail) {}

    /** State of a claim. */
    public enum ClaimState {
        /** The lookup would have the claim. */
        FREE,
        /** Another process is compiling. */
        UNDER_WAY,
        /** Another process has compiled, and stores the entry after its launch. */
        AWAITING_LAUNCH,
        /** Lookups make no claims, by the configuration. */
        OFF,
        /** The claim cannot be read; a lookup goes on without one. */
        UNKNOWN
    }

    /** The outcome of the lookup. */
    public sealed interface Outcome {
        /**
         * The driver restores an entry.
         *
         * @param tier the tier of the entry
         * @param from the target of the entry
         */
        record Restore(String tier, Target from) implements Outcome {}

        /**
         * The source is compiled.
         *
         * @param reason the reason in one line
         */
        record Compile(String reason) implements Outcome {}

        /**
         * The lookup waits for another process.
         *
         * @param limit the longest wait
         * @param otherwise the outcome if the wait ends without an entry
         */
        record Wait(Duration limit, Outcome otherwise) implements Outcome {}
    }
}
