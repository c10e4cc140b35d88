package dev.granary.gpu;

import dev.granary.cache.Target;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The environment variables that change the output of a driver's compiler. They are compiler
 * inputs, like options. Immutable.
 *
 * <p>All variables with a prefix of the driver count, except those known to affect only caches,
 * logs, threads or devices. An unknown variable of a later driver version can therefore separate
 * ids needlessly, but never merge them wrongly.
 *
 * @param variables name and value of each variable that counts
 * @param untracked the reason why the key cannot cover the environment; empty if it can
 */
record CompilerEnvironment(NavigableMap<String, String> variables, Optional<String> untracked) {
    /** If set, Intel's driver reads hundreds of settings from variables without a common prefix. */
    private static final String INTEL_DEBUG_KEYS = "NEOReadDebugKeys";

    /**
     * The variables of one driver family.
     *
     * @param prefixes the prefixes of the variables that count
     * @param harmless variables with such a prefix that do not count
     */
    private record Family(List<String> prefixes, Set<String> harmless) {
        boolean counts(String name) {
            return prefixes.stream().anyMatch(name::startsWith) && !harmless.contains(name);
        }
    }

    private static final Family POCL = new Family(
            List.of("POCL_"),
            Set.of(
                    "POCL_AFFINITY",
                    "POCL_BINARY_SPECIALIZE_WG",
                    "POCL_CACHE_DIR",
                    "POCL_CPU_MAX_CU_COUNT",
                    "POCL_DEBUG",
                    "POCL_DEBUG_LLVM_PASSES",
                    "POCL_DEVICES",
                    "POCL_ENABLE_UNINIT",
                    "POCL_KERNEL_CACHE",
                    "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES",
                    "POCL_MAX_COMPUTE_UNITS",
                    "POCL_MAX_PTHREAD_COUNT",
                    "POCL_MEMORY_LIMIT",
                    "POCL_SIGFPE_HANDLER",
                    "POCL_SIGUSR2_HANDLER",
                    "POCL_STARTUP_DELAY",
                    "POCL_TRACING",
                    "POCL_TRACING_FILTER",
                    "POCL_TRACING_OPT",
                    "POCL_VECTORIZER_REMARKS"));

    private static final Family INTEL = new Family(
            List.of("IGC_", "NEO_", "VISA_", "CL_CONFIG_", "OverrideDefaultFP64Settings"),
            Set.of("NEO_CACHE_DIR", "NEO_CACHE_MAX_SIZE", "NEO_CACHE_PERSISTENT"));

    private static final Family NVIDIA = new Family(
            List.of(
                    "CUDA_DISABLE_JIT",
                    "CUDA_DISABLE_PTX_JIT",
                    "CUDA_FORCE_JIT",
                    "CUDA_FORCE_PTX_JIT"),
            Set.of());

    private static final Family AMD = new Family(
            List.of("AMD_OCL_", "AMD_COMGR_", "AMD_DEBUG"),
            Set.of(
                    "AMD_COMGR_CACHE",
                    "AMD_COMGR_CACHE_DIR",
                    "AMD_COMGR_CACHE_POLICY",
                    "AMD_COMGR_EMIT_VERBOSE_LOGS",
                    "AMD_COMGR_REDIRECT_LOGS",
                    "AMD_COMGR_SAVE_TEMPS",
                    "AMD_COMGR_TIME_STATISTICS"));

    private static final Family MESA = new Family(
            List.of("CLOVER_EXTRA_", "RUSTICL_"), Set.of("RUSTICL_DEVICE_TYPE", "RUSTICL_ENABLE"));

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
        List<Family> families =
                switch (target.vendor()) {
                    case DriverTraits.POCL -> List.of(POCL);
                    case "intel" -> List.of(INTEL);
                    case "nvidia" -> List.of(NVIDIA);
                    default -> List.of(POCL, INTEL, NVIDIA, AMD, MESA);
                };
        NavigableMap<String, String> found = new TreeMap<>();
        environment.forEach((name, value) -> {
            if (families.stream().anyMatch(family -> family.counts(name))) {
                found.put(name, value);
            }
        });
        String debug = environment.getOrDefault(INTEL_DEBUG_KEYS, "0");
        boolean isUntracked = families.contains(INTEL) && !debug.isBlank() && !debug.equals("0");
        return new CompilerEnvironment(
                found,
                isUntracked
                        ? Optional.of("the environment variable " + INTEL_DEBUG_KEYS + "=" + debug
                                + " lets other variables change the compiled code: unset"
                                + " it, or give an extra digest")
                        : Optional.empty());
    }
}
