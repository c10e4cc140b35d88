package dev.granary.gpu.levelzero;

import dev.granary.gpu.Geometry;
import dev.granary.gpu.engine.KernelLauncher;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.levelzero.binding.KernelCalls;

/** The kernels' calls of Level Zero. */
record LevelZeroLauncher(ZeContext context, ImmediateCommands commands) implements KernelLauncher {
    @Override
    public NativeHandle create(long module, String name) {
        return context.own("kernel", calls().create(module, name), calls()::destroy);
    }

    @Override
    public int parameters(long kernel) {
        return calls().parameters(kernel);
    }

    @Override
    public void setArgument(long kernel, int index, long bytes, long value) {
        calls().setArgument(kernel, index, bytes, value);
    }

    @Override
    public void launch(long kernel, Geometry geometry, boolean excludesTaking) {
        LaunchShape shape =
                LaunchShape.of(geometry, global -> calls().suggestGroupSize(kernel, global));
        calls().setGroupSize(kernel, shape.groupSize());
        commands.run(
                list -> context.commands.appendLaunch(list, kernel, shape.groups()));
    }

    private KernelCalls calls() {
        return context.kernels;
    }
}
