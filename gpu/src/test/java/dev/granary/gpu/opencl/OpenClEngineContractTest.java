package dev.granary.gpu.opencl;

import dev.granary.gpu.contract.EngineUnderTest;
import dev.granary.gpu.contract.KernelEngineContract;

/** Runs the contract of engines on PoCL. */
@NeedsPocl
class OpenClEngineContractTest extends KernelEngineContract {
    @Override
    protected EngineUnderTest backend() {
        return new OpenClUnderTest(PoclDevice.get());
    }
}
