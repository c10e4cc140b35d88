package dev.granary.testing;

import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.MethodOrdererContext;

import java.util.Collections;

/**
 * Random order of the methods of a test class, by the seed of the tests. The default of all
 * modules: {@code junit-platform.properties}.
 */
public final class SeedOrder implements MethodOrderer {
    /** Used by JUnit. */
    public SeedOrder() {}

    @Override
    public void orderMethods(MethodOrdererContext context) {
        Collections.shuffle(
                context.getMethodDescriptors(),
                java.util.Random.from(TestSeed.random(context.getTestClass().getName())));
    }
}
