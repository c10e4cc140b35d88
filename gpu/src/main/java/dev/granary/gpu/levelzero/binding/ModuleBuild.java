package dev.granary.gpu.levelzero.binding;

import dev.granary.gpu.DriverException;

import java.util.Optional;

/**
 * The outcome of building a module.
 *
 * @param module its handle, which the caller owns; 0 if the driver has refused the input
 * @param refusal the call and its status, if the driver has refused the input
 * @param log the build log; may be empty
 */
public record ModuleBuild(long module, Optional<DriverException> refusal, String log) {}
