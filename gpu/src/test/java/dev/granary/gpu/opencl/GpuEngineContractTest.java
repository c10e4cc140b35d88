package dev.granary.gpu.opencl;

import dev.granary.gpu.contract.EngineUnderTest;
import dev.granary.gpu.contract.KernelEngineContract;

/** Runs the contract of engines on the first device of another driver than PoCL, such as a GPU. */
@NeedsGpu
class GpuEngineContractTest extends KernelEngineContract {
    @Override
    protected EngineUnderTest backend() {
        return new OpenClUnderTest(NeedsGpu.Condition.device().orElseThrow());
    }
}
