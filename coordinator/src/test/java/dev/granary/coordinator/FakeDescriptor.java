package dev.granary.coordinator;

import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;

/** Describes nothing but its name. */
public record FakeDescriptor(String name, Id getId) implements PrimitiveDescriptor {
    public static FakeDescriptor of(String name) {
        return new FakeDescriptor(name, TestEntries.id(name));
    }

    public static FakeDescriptor notCacheable(String name) {
        return new FakeDescriptor(name, Id.notCacheable("a test says so"));
    }

    @Override
    public Target target() {
        return TestEntries.TARGET;
    }
}
