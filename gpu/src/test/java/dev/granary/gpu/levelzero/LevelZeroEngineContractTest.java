package dev.granary.gpu.levelzero;

import dev.granary.gpu.contract.EngineUnderTest;
import dev.granary.gpu.contract.KernelEngineContract;

/** Runs the contract of engines on Level Zero, with the test driver. */
@NeedsTestDriver
class LevelZeroEngineContractTest extends KernelEngineContract {
    @Override
    protected EngineUnderTest backend() {
        return new TestDriverUnderTest();
    }
}
