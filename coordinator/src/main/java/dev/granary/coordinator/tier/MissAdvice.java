package dev.granary.coordinator.tier;

import dev.granary.cache.Target;
import dev.granary.cache.support.SharedStore;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.Tiers.Layer;

import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Advice for a process of which no lookup hit in a layer: the targets that the layer has, if they
 * differ from that of this machine. Two listings of one page at most.
 */
public final class MissAdvice {
    /** A process with fewer misses may need a kernel that is new to all. */
    private static final int MIN_MISSES = 3;

    private static final int NAMED = 3;

    /** Vendor, device, driver and digest; a name from a bucket may be anything. */
    private static final Pattern NAME = Pattern.compile("([a-z0-9.-]+_){3}[0-9a-f]{12}");

    private static final int DEVICE = 1;
    private static final int DRIVER = 2;

    private MissAdvice() {}

    /**
     * Returns the advice in one line; empty without a reason.
     *
     * @param isTarget if this process uploads to the layer: it may have just done so
     */
    public static Optional<String> on(Layer layer, boolean isTarget) {
        Map<Counter, Long> counted = layer.tier().counted();
        ToLongFunction<Counter> count = counter -> counted.getOrDefault(counter, 0L);
        long misses = count.applyAsLong(Counter.LAYER_LOOKUPS)
                - count.applyAsLong(Counter.LAYER_DAMAGED)
                - count.applyAsLong(Counter.LAYER_UNTRUSTED)
                - count.applyAsLong(Counter.LAYER_UNAVAILABLE);
        Optional<SharedStore> store = layer.store();
        Optional<Target> missed = layer.tier().missed();
        if (store.isEmpty()
                || missed.isEmpty()
                || misses < MIN_MISSES
                || count.applyAsLong(Counter.LAYER_HITS) > 0
                || layer.bounds().failure().isPresent()) {
            return Optional.empty();
        }
        return reason(layer, store.get(), missed.get(), isTarget)
                .map(reason ->
                        "None of " + misses + " lookups hit in " + layer.name() + ": " + reason);
    }

    private static Optional<String> reason(
            Layer layer, SharedStore store, Target target, boolean isTarget) {
        String own = target.name();
        String[] parts = own.split("_");
        SortedSet<String> names = names(layer, store, target, parts[0] + "_" + parts[DEVICE] + "_");
        if (names.contains(own)) {
            return isTarget
                    ? Optional.empty()
                    : Optional.of("it has entries for this device and driver, but of other sources"
                            + " or options; granary inspect MANIFEST#KERNEL shows the nearest.");
        }
        if (!names.isEmpty()) {
            return Optional.of(difference("driver", DRIVER, names, own));
        }
        SortedSet<String> others = names(layer, store, target, "");
        return others.isEmpty()
                ? Optional.empty()
                : Optional.of(difference("device", DEVICE, others, own));
    }

    private static SortedSet<String> names(
            Layer layer, SharedStore store, Target target, String start) {
        return layer
                .bounds()
                .<SortedSet<String>>ask(
                        () -> store.targets(target.backend(), start), _ -> new TreeSet<>())
                .stream()
                .filter(name -> NAME.matcher(name).matches())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Names the parts that differ, or the whole targets if only their digests do. */
    private static String difference(String what, int part, SortedSet<String> names, String own) {
        SortedSet<String> values = names.stream()
                .map(name -> name.split("_")[part])
                .collect(Collectors.toCollection(TreeSet::new));
        String here = own.split("_")[part];
        return values.contains(here)
                ? "it has entries for " + some(names) + "; this machine is " + own + "."
                : "it has entries for " + what + " " + some(values) + "; this machine has " + here
                        + ".";
    }

    private static String some(SortedSet<String> values) {
        int more = values.size() - NAMED;
        return values.stream().limit(NAMED).collect(Collectors.joining(", "))
                + (more > 0 ? " and " + more + " more" : "");
    }
}
