package dev.granary.gpu.levelzero;

import dev.granary.gpu.levelzero.binding.CommandCalls;
import dev.granary.gpu.levelzero.binding.ContextCalls;
import dev.granary.gpu.levelzero.binding.KernelCalls;
import dev.granary.gpu.levelzero.binding.ModuleCalls;
import dev.granary.gpu.levelzero.binding.ZeLibrary;

/**
 * The native calls of engines, by subject.
 *
 * @param contexts contexts and memory
 * @param modules modules
 * @param kernels kernels
 * @param commands command lists
 */
record ZeCalls(
        ContextCalls contexts,
        ModuleCalls modules,
        KernelCalls kernels,
        CommandCalls commands) {

    static ZeCalls of(ZeLibrary library) {
        return new ZeCalls(
                new ContextCalls(library),
                new ModuleCalls(library),
                new KernelCalls(library),
                new CommandCalls(library));
    }
}
