package dev.granary.cache.format;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.Warnings;

import java.security.PublicKey;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The decision whether entries of one place may be used: which signatures count there. Thread-safe.
 *
 * <p>What was verified is remembered, since a check takes half a millisecond.
 */
public final class TrustPolicy {
    /** The policy of a place whose writers are trusted. */
    public static final TrustPolicy OFF = new TrustPolicy(Mode.OFF, "", Map.of());

    /** The largest number of hashes that are remembered for a key, each in some 100 bytes. */
    private static final int MAX_VERIFIED = 50_000;

    private final Mode mode;
    private final String place;
    private final Map<String, Optional<PublicKey>> keys;
    private final Map<String, Set<Sha256>> verified = new ConcurrentHashMap<>(); // by key

    /** Treatment of entries without a signature that counts. */
    public enum Mode {
        /** It is used; signatures are not looked at. */
        OFF,
        /** It is used, and the log says so. */
        WARN,
        /** It is a miss, and is replaced by the next store. */
        REQUIRE
    }

    /**
     * Creates a policy.
     *
     * @param place the name of the place, for messages
     * @param keys the keys that count, by name; empty for one that was revoked
     */
    public TrustPolicy(Mode mode, String place, Map<String, Optional<PublicKey>> keys) {
        this.mode = mode;
        this.place = place;
        this.keys = Map.copyOf(keys);
    }

    /** Returns the mode. */
    public Mode mode() {
        return mode;
    }

    /** Returns true if signatures by the key of this name count. */
    public boolean knows(String keyName) {
        return keys.getOrDefault(keyName, Optional.empty()).isPresent();
    }

    /**
     * Returns a loaded entry, or damage if it must not be used; other results as they are.
     *
     * @param found the result of a decoder, which has verified that the entry is of its id
     */
    public LoadResult check(LoadResult found) {
        if (mode == Mode.OFF || !(found instanceof LoadResult.Hit(Entry entry))) {
            return found;
        }
        Optional<String> objection = objection(entry);
        if (objection.isEmpty()) {
            return found;
        }
        boolean isRefused = mode == Mode.REQUIRE;
        Warnings.warn(
                "untrusted " + place,
                "An entry of " + place + (isRefused ? " is not used: " : " is used although ")
                        + objection.get() + " (trust=" + (isRefused ? "require" : "warn")
                        + "). granary inspect shows the signature of an entry.");
        return isRefused ? new LoadResult.Damaged(DamageKind.UNTRUSTED, objection.get()) : found;
    }

    /** Returns the refusal of an entry that no reader with this policy would use. */
    public Optional<StoreResult> refusal(Entry entry) {
        return mode == Mode.REQUIRE
                ? objection(entry)
                        .map(cause -> new StoreResult.Refused(
                                StoreResult.Scope.ENTRY,
                                cause + "; sign with GRANARY_SIGNING_KEY, or only read here"))
                : Optional.empty();
    }

    /** Returns true if {@code entry} takes the place of one with its id, whatever its content. */
    public boolean prefers(Entry entry, Entry there) {
        return mode != Mode.OFF
                && objection(there).isPresent()
                && objection(entry).isEmpty();
    }

    /** Returns why a signature is missing or does not count; empty if one counts. */
    public Optional<String> objection(Entry entry) {
        Optional<EntrySignature> signature = EntrySignature.of(entry);
        if (signature.isEmpty()) {
            return Optional.of("it is not signed");
        }
        String name = signature.get().keyName();
        if (!keys.containsKey(name)) {
            return Optional.of("it is signed by " + name + ", which is not trusted here");
        }
        Optional<PublicKey> key = keys.getOrDefault(name, Optional.empty());
        if (key.isEmpty()) {
            return Optional.of("it is signed by " + name + ", which was revoked");
        }
        Set<Sha256> known = verified.computeIfAbsent(
                name,
                _ -> ConcurrentHashMap.newKeySet(MAX_VERIFIED / 2)); // else rehashed ten times
        if (known.size() >= MAX_VERIFIED) {
            known.clear();
        }
        return signature.get().isBy(key.get(), entry, known)
                ? Optional.empty()
                : Optional.of("the signature by " + name + " is of something else");
    }
}
