package dev.granary.gpu;

import dev.granary.gpu.device.DriverTraits;

import java.util.List;
import java.util.Set;

/**
 * The environment variables of a family of drivers that change the output of its compiler, as a
 * table. All variables with a prefix count, except those known to affect only caches, logs, threads
 * or devices.
 */
enum CompilerVariables {
    POCL(
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
                    "POCL_VECTORIZER_REMARKS")),

    /** Intel's GPU driver for OpenCL and Level Zero, its compiler, and the driver of processors. */
    INTEL(
            List.of(
                    "IGC_",
                    "NEO_",
                    "VISA_",
                    "CL_CONFIG_",
                    "OverrideDefaultFP64Settings",
                    "ONEAPI_PVC_SEND_WAR_WA",
                    "ZET_ENABLE_PROGRAM_DEBUGGING",
                    "ZET_ENABLE_PROGRAM_INSTRUMENTATION"),
            Set.of("NEO_CACHE_DIR", "NEO_CACHE_MAX_SIZE", "NEO_CACHE_PERSISTENT")),

    NVIDIA(
            List.of(
                    "CUDA_DISABLE_JIT",
                    "CUDA_DISABLE_PTX_JIT",
                    "CUDA_FORCE_JIT",
                    "CUDA_FORCE_PTX_JIT"),
            Set.of()),

    AMD(
            List.of("AMD_OCL_", "AMD_COMGR_", "AMD_DEBUG"),
            Set.of(
                    "AMD_COMGR_CACHE",
                    "AMD_COMGR_CACHE_DIR",
                    "AMD_COMGR_CACHE_POLICY",
                    "AMD_COMGR_EMIT_VERBOSE_LOGS",
                    "AMD_COMGR_REDIRECT_LOGS",
                    "AMD_COMGR_SAVE_TEMPS",
                    "AMD_COMGR_TIME_STATISTICS")),

    /** Mesa's rusticl and clover, with the compilers of its software devices. */
    MESA(
            List.of("CLOVER_EXTRA_", "GALLIVM_", "LP_NATIVE_VECTOR_WIDTH", "NIR_", "RUSTICL_"),
            Set.of("RUSTICL_DEVICE_TYPE", "RUSTICL_ENABLE", "RUSTICL_MAX_WORK_GROUPS")),

    OCLGRIND(
            List.of("OCLGRIND_"),
            Set.of(
                    "OCLGRIND_CHECK_API",
                    "OCLGRIND_COMPUTE_UNITS",
                    "OCLGRIND_CONSTANT_MEM_SIZE",
                    "OCLGRIND_DATA_RACES",
                    "OCLGRIND_DUMP_SPIR",
                    "OCLGRIND_INST_COUNTS",
                    "OCLGRIND_INTERACTIVE",
                    "OCLGRIND_LOCAL_MEM_SIZE",
                    "OCLGRIND_LOG",
                    "OCLGRIND_MAX_ERRORS",
                    "OCLGRIND_MAX_WGSIZE",
                    "OCLGRIND_NUM_THREADS",
                    "OCLGRIND_PLUGINS",
                    "OCLGRIND_QUICK",
                    "OCLGRIND_STOP_ERRORS",
                    "OCLGRIND_UNINITIALIZED"));

    private final List<String> prefixes;
    private final Set<String> harmless;

    CompilerVariables(List<String> prefixes, Set<String> harmless) {
        this.prefixes = prefixes;
        this.harmless = harmless;
    }

    /** Returns the families whose variables count for a driver; all if the driver is unknown. */
    static List<CompilerVariables> ofVendor(String vendor) {
        return switch (vendor) {
            case DriverTraits.POCL -> List.of(POCL);
            case "intel" -> List.of(INTEL);
            case "nvidia" -> List.of(NVIDIA);
            default -> List.of(values());
        };
    }

    /** Returns true if a variable changes the output of the compiler, or may do so. */
    boolean counts(String name) {
        return prefixes.stream().anyMatch(name::startsWith) && !harmless.contains(name);
    }

    /** Returns the prefixes of variables that count. */
    List<String> prefixes() {
        return prefixes;
    }

    /** Returns the variables with such a prefix that do not count. */
    Set<String> harmless() {
        return harmless;
    }
}
