package dev.granary.gpu.opencl;

import dev.granary.gpu.DriverException;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.engine.KernelLauncher;
import dev.granary.gpu.engine.NativeHandle;
import dev.granary.gpu.opencl.binding.ProgramCalls;
import dev.granary.gpu.opencl.driver.PoclLaunchLock;

import java.util.function.IntSupplier;

/** The kernels' calls of OpenCL. */
record OpenClLauncher(OpenClEngine engine) implements KernelLauncher {
    @Override
    public NativeHandle create(long program, String name) {
        return new NativeHandle(
                engine.lifetime(),
                "kernel",
                calls().createKernel(program, name),
                calls()::releaseKernel);
    }

    @Override
    public int parameters(long kernel) {
        return calls().kernelArguments(kernel);
    }

    @Override
    public boolean excludesTaking(long kernel) {
        return engine.isPocl() && calls().hasFixedGroup(kernel, engine.device().handle());
    }

    @Override
    public void setArgument(long kernel, int index, long bytes, long value) {
        calls().setArgument(kernel, index, bytes, value);
    }

    @Override
    public void launch(long kernel, Geometry geometry, boolean excludesTaking) {
        IntSupplier launch = () -> engine.binding()
                .queues()
                .launch(engine.engineQueue().handle(), kernel, geometry.global(), geometry.local());
        int status = excludesTaking ? PoclLaunchLock.launch(launch) : launch.getAsInt();
        if (status < 0) {
            throw new DriverException("A kernel failed with execution status " + status, status);
        }
    }

    private ProgramCalls calls() {
        return engine.binding().programs();
    }
}
