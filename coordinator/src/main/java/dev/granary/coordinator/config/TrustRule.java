package dev.granary.coordinator.config;

import dev.granary.cache.format.EntrySignature;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.cache.format.TrustPolicy.Mode;

import java.security.PublicKey;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Which signatures a place requires, such as {@code require:ci-2026,ci-2027}.
 *
 * @param names the keys that count; empty: all trusted keys
 */
record TrustRule(Mode mode, List<String> names) {
    static final TrustRule OFF = new TrustRule(Mode.OFF, List.of());

    /** The form of a text, for messages. */
    static final String FORM = "off, warn or require, which may name keys: require:ci-2026,ci-2027";

    /**
     * Parses a text.
     *
     * @throws IllegalArgumentException if it has another form
     */
    static TrustRule parse(String text) {
        int colon = text.indexOf(':');
        String mode = colon < 0 ? text : text.substring(0, colon);
        List<String> names =
                colon < 0 ? List.of() : Arrays.asList(text.substring(colon + 1).split(",", -1));
        if (!mode.equals(mode.toLowerCase(Locale.ROOT))
                || (mode.equals("off") && colon >= 0)
                || !names.stream()
                        .allMatch(name -> EntrySignature.NAME.matcher(name).matches())) {
            throw new IllegalArgumentException(text);
        }
        return new TrustRule(Mode.valueOf(mode.toUpperCase(Locale.ROOT)), names);
    }

    /**
     * Returns the policy of a place.
     *
     * @param trusted the trusted keys, by name; empty for one that was revoked
     * @throws IllegalArgumentException with a message for people, if no signature could count
     */
    TrustPolicy policy(String place, Map<String, Optional<PublicKey>> trusted) {
        if (mode == Mode.OFF) {
            return TrustPolicy.OFF;
        }
        Map<String, Optional<PublicKey>> keys = new HashMap<>(trusted);
        if (!names.isEmpty()) {
            keys.keySet().retainAll(names);
        }
        String remedy = "; add it with granary keys --trust FILE, or to GRANARY_TRUSTED_KEYS.";
        for (String name : names) {
            if (!keys.containsKey(name)) {
                throw new IllegalArgumentException("The trust of " + place + " names the key "
                        + name + ", which is none of the trusted keys" + remedy);
            }
        }
        if (keys.values().stream().noneMatch(Optional::isPresent)) {
            throw new IllegalArgumentException(
                    "The trust of " + place + " needs a trusted key, and there is none" + remedy);
        }
        return new TrustPolicy(mode, place, keys);
    }
}
