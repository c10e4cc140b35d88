package dev.granary.plans;

import dev.granary.plans.nest.PlanNames;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The names that a kernel adds to those of its plan. Equal plans get equal names. */
final class KernelNames {
    private final Set<String> taken;
    private final Map<PlacedCache, String> caches = new HashMap<>();
    private final Map<PlacedCache, String> buffers = new HashMap<>();

    private KernelNames(Set<String> ofPlan) {
        taken = new HashSet<>(ofPlan);
    }

    /** Returns the names of a kernel with these copies. */
    static KernelNames of(PlanLoops loops, List<PlacedCache> copied) {
        KernelNames names = new KernelNames(loops.schedule().names());
        copied.forEach(names::cache);
        return names;
    }

    /** Returns the name of a cache, such as {@code A_local}. */
    String cache(PlacedCache cache) {
        return caches.computeIfAbsent(
                cache, each -> unused(each.array().name() + "_" + each.location()));
    }

    /** Returns the name of the buffer for the next blocks of a cache. */
    String buffer(PlacedCache cache) {
        return buffers.computeIfAbsent(cache, each -> unused(each.array().name() + "_next"));
    }

    /** Returns a name like {@code wish} that nothing has, and reserves it. */
    String unused(String wish) {
        String name = wish;
        for (int number = 2; PlanNames.isReserved(name) || taken.contains(name); number++) {
            name = wish + "_" + number;
        }
        taken.add(name);
        return name;
    }
}
