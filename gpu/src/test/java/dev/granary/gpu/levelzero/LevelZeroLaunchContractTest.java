package dev.granary.gpu.levelzero;

import dev.granary.gpu.contract.EngineUnderTest;
import dev.granary.gpu.contract.KernelLaunchContract;

/** Runs the contract of launches on Level Zero, with the test driver. */
@NeedsTestDriver
class LevelZeroLaunchContractTest extends KernelLaunchContract {
    @Override
    protected EngineUnderTest backend() {
        return new TestDriverUnderTest();
    }
}
