package dev.granary.s3.history;

import dev.granary.cache.Id;
import dev.granary.s3.CollectionPlan;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.Set;

/**
 * The ids that a collection may remove: those that were neither young when it listed the bucket,
 * nor pinned or used when it last looked, nor written by a task that began after that.
 */
final class Collecting {
    private static final String ROOT = "v2/";
    private static final String PINS = "pin/";

    private final Bucket bucket;
    private final Ledger ledger;
    private final CollectionPlan.Rules rules;
    private final boolean hasTwoClocks;
    private final Machine.Work work;
    private Set<Id> kept = Set.of();
    private Set<Id> young = Set.of();
    private boolean hasLooked;
    private long listedMillis;

    /**
     * Creates it.
     *
     * @param hasTwoClocks true if no date of the server can be relied on
     */
    Collecting(
            Bucket bucket,
            Ledger ledger,
            CollectionPlan.Rules rules,
            boolean hasTwoClocks,
            Machine.Work work) {
        this.bucket = bucket;
        this.ledger = ledger;
        this.rules = rules;
        this.hasTwoClocks = hasTwoClocks;
        this.work = work;
    }

    void listing(String prefix) {
        if (prefix.equals(ROOT) && !hasTwoClocks) {
            listedMillis = bucket.nowMillis();
            young = ledger.writtenSince(listedMillis - Duration.ofDays(1).toMillis());
        }
        if (prefix.equals(PINS) && !(hasLooked && hasTwoClocks)) { // a look begins with pins
            hasLooked = true;
            kept = new HashSet<>(ledger.pinned());
            if (!rules.isAll() && rules.budgetBytes() > 0) {
                LocalDate today = LocalDate.ofInstant(
                        Instant.ofEpochMilli(bucket.nowMillis()), ZoneOffset.UTC);
                kept.addAll(ledger.usedSince(
                        today.minusDays(rules.unusedDays() - (hasTwoClocks ? 2 : 0))));
            }
        }
    }

    Set<Id> leavingOut() {
        if (!hasLooked) {
            return Set.of();
        }
        if (work.hasFalseResponse()) {
            return Set.copyOf(ledger.ids());
        }
        Set<Id> leaving = new HashSet<>(ledger.ids());
        leaving.removeAll(young);
        leaving.removeAll(kept);
        return hasTwoClocks ? leaving : ledger.notWrittenSince(leaving, listedMillis);
    }
}
