package dev.granary.cache.constant;

import dev.granary.cache.constant.ConstantTensorCache.Limit;

import java.util.EnumMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The configured limits by kind of engine, such as {@code cpu:10240;gpu:2048:COST}. A missing kind
 * has no configured limit. Immutable.
 *
 * @param chosen the configured limits
 */
public record ConstantLimits(Map<EngineKind, Limit> chosen) {
    /** No configured limits. */
    public static final ConstantLimits NONE = new ConstantLimits(Map.of());

    /** The description of the text form, for messages. */
    public static final String FORM =
            "kind:megabytes or kind:megabytes:policy, with semicolons between, such as"
                    + " cpu:10240;gpu:2048:COST; the kinds are cpu and gpu, each once, the policies"
                    + " NO_EVICT, COST and LRU";

    /** Copies the map. */
    public ConstantLimits {
        chosen = Map.copyOf(chosen);
    }

    /**
     * Parses a text of the form {@link #FORM}. Case, blanks around the words and empty parts are
     * ignored. If a kind occurs twice, the first part counts and the second is a mistake.
     *
     * @param mistakes receives the invalid parts, as written; the valid ones are returned
     */
    public static ConstantLimits parse(String text, Consumer<String> mistakes) {
        Map<EngineKind, Limit> limits = new EnumMap<>(EngineKind.class);
        Set<EngineKind> seen = new HashSet<>();
        for (String part : text.split(";", -1)) {
            if (!part.isBlank()) {
                try {
                    String[] words = part.strip().toUpperCase(Locale.ROOT).split(":", -1);
                    EngineKind kind = EngineKind.valueOf(words[0].strip());
                    if (!seen.add(kind)) {
                        throw new IllegalArgumentException(part);
                    }
                    limits.put(kind, limit(words));
                } catch (IllegalArgumentException e) {
                    mistakes.accept(part.strip());
                }
            }
        }
        return new ConstantLimits(limits);
    }

    private static Limit limit(String[] words) {
        if (words.length < 2 || words.length > 3) {
            throw new IllegalArgumentException("Expected a kind, a number and an optional policy");
        }
        ConstantPolicy policy = words.length == 3
                ? ConstantPolicy.valueOf(words[2].strip())
                : Limit.DEFAULT.policy();
        return new Limit(Long.parseLong(words[1].strip()), policy);
    }

    /** Returns these limits, completed by those of {@code others} for missing kinds. */
    public ConstantLimits orElse(ConstantLimits others) {
        Map<EngineKind, Limit> all = new EnumMap<>(EngineKind.class);
        all.putAll(others.chosen);
        all.putAll(chosen);
        return new ConstantLimits(all);
    }
}
