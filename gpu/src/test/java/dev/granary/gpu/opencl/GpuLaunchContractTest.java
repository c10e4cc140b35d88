package dev.granary.gpu.opencl;

import dev.granary.gpu.contract.EngineUnderTest;
import dev.granary.gpu.contract.KernelLaunchContract;

/** Runs the contract of launches on the first device of another driver than PoCL, such as a GPU. */
@NeedsGpu
class GpuLaunchContractTest extends KernelLaunchContract {
    @Override
    protected EngineUnderTest backend() {
        return new OpenClUnderTest(NeedsGpu.Condition.device().orElseThrow());
    }
}
