package dev.granary.gpu.opencl;

import dev.granary.gpu.contract.EngineUnderTest;
import dev.granary.gpu.contract.KernelLaunchContract;

/** Runs the contract of launches on PoCL. */
@NeedsPocl
class OpenClLaunchContractTest extends KernelLaunchContract {
    @Override
    protected EngineUnderTest backend() {
        return new OpenClUnderTest(PoclDevice.get());
    }
}
