package dev.granary.s3.pack.compact;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.ObjectName;

import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/**
 * The entries that a compaction leaves out.
 *
 * @param ids the hashes of their ids
 * @param packs the packs that they leave; others are not rewritten for them
 * @param beforeMillis unpacked entries that were written then or later stay, by the server's clock
 * @param isAlone true if the compaction does nothing else
 * @param isValid asked right before each change; if false, the compaction is planned again
 */
public record Exclusion(
        Predicate<Sha256> ids,
        Predicate<ObjectName> packs,
        long beforeMillis,
        boolean isAlone,
        BooleanSupplier isValid) {
    static final Exclusion NONE = of(_ -> false);

    /** Returns the exclusion of the ids that begin with these digits. */
    static Exclusion of(Set<String> prefixes) {
        return prefixes.isEmpty()
                ? NONE
                : of(id -> prefixes.stream().anyMatch(id.hex()::startsWith));
    }

    private static Exclusion of(Predicate<Sha256> ids) {
        return new Exclusion(ids, _ -> true, Long.MAX_VALUE, false, () -> true);
    }

    /** Returns true if an unpacked entry is left out; never if its date is needed and unknown. */
    boolean hasUnpacked(Sha256 id, long writtenMillis) {
        return ids.test(id)
                && writtenMillis < beforeMillis
                && (writtenMillis > 0 || beforeMillis == Long.MAX_VALUE);
    }
}
