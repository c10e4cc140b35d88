package dev.granary.gpu.levelzero;

import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.KernelEngine;
import dev.granary.gpu.contract.EngineUnderTest;

/** Level Zero with the test driver, for the contract suite of engines. */
final class TestDriverUnderTest implements EngineUnderTest {
    private final TestDriver driver = TestDriver.get();
    private final LevelZeroDevice device = LevelZero.devices().getFirst();
    private final long compiledBefore = driver.calls("spirv");

    @Override
    public Target target() {
        return device.target();
    }

    @Override
    public KernelEngine open() {
        return LevelZeroEngine.open(device, VectorPrograms.COMPILER);
    }

    @Override
    public KernelDescriptor.Builder vectors(int extra) {
        return VectorPrograms.vectors(target(), extra);
    }

    @Override
    public KernelDescriptor.Builder broken() {
        return VectorPrograms.of(target(), "kernel k buffer\n  nope 0 0 0\n");
    }

    @Override
    public long compiles() {
        return driver.calls("spirv") - compiledBefore;
    }

    @Override
    public long liveObjects() {
        driver.assertNoViolation();
        return driver.liveObjects();
    }
}
