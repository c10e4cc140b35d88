package dev.granary.gpu;

import dev.granary.cache.Target;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The environment variables that change the output of a driver's compiler. They are compiler
 * inputs, like options. Immutable.
 *
 * <p>{@link CompilerVariables} is the table. An unknown variable of a later driver version can
 * separate ids needlessly, but never merge them wrongly.
 *
 * @param variables name and value of each variable that counts
 * @param untracked the reason why the key cannot cover the environment; empty if it can
 */
record CompilerEnvironment(NavigableMap<String, String> variables, Optional<String> untracked) {
    /** If set, Intel's driver reads hundreds of settings from variables without a common prefix. */
    private static final String INTEL_DEBUG_KEYS = "NEOReadDebugKeys";

    // by vendor; constant for a process
    private static final Map<String, CompilerEnvironment> PROCESS_ENVIRONMENTS =
            new ConcurrentHashMap<>();

    /** Copies the map. */
    CompilerEnvironment {
        variables = Collections.unmodifiableNavigableMap(new TreeMap<>(variables));
    }

    /** Returns the environment that this process was started with. */
    static CompilerEnvironment ofProcess(Target target) {
        return PROCESS_ENVIRONMENTS.computeIfAbsent(
                target.vendor(), _ -> of(target, System.getenv()));
    }

    /**
     * Returns the variables of {@code environment} that the driver of {@code target} reads. For an
     * unknown driver, the variables of all families count.
     */
    static CompilerEnvironment of(Target target, Map<String, String> environment) {
        List<CompilerVariables> families = CompilerVariables.ofVendor(target.vendor());
        NavigableMap<String, String> found = new TreeMap<>();
        environment.forEach((name, value) -> {
            if (families.stream().anyMatch(family -> family.counts(name))) {
                found.put(name, value);
            }
        });
        String debug = environment.getOrDefault(INTEL_DEBUG_KEYS, "0");
        boolean isUntracked = families.contains(CompilerVariables.INTEL)
                && !debug.isBlank()
                && !debug.equals("0");
        return new CompilerEnvironment(
                found,
                isUntracked
                        ? Optional.of("the environment variable " + INTEL_DEBUG_KEYS + "=" + debug
                                + " lets other variables change the compiled code: unset"
                                + " it, or give an extra digest")
                        : Optional.empty());
    }
}
