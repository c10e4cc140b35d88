package dev.granary.examples;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.granary.cache.Engine;
import dev.granary.cache.Target;
import dev.granary.cache.contract.EngineContract;
import dev.granary.testing.SystemTool;

/** The contract suite for {@link CcEngine}. */
class CcEngineTest extends EngineContract<CcEngine.Source, CcEngine.Function> {
    @Override
    protected CcEngine openEngine() throws Exception {
        assumeTrue(SystemTool.run("cc", "--version"), "no C compiler: apt-get install gcc");
        return new CcEngine();
    }

    @Override
    protected CcEngine.Source descriptor(Target target, int result) {
        return new CcEngine.Source(
                target, "plus", "double plus(double x) { return x + " + result + "; }");
    }

    @Override
    protected CcEngine.Source wrong(Target target) {
        return new CcEngine.Source(target, "plus", "double plus(double x) { return y; }");
    }

    @Override
    protected int use(
            Engine<CcEngine.Source, CcEngine.Function> engine, CcEngine.Function function) {
        return (int) function.call(0);
    }
}
