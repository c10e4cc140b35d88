package dev.granary.coordinator;

import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.cache.contract.TestEntries;

/** A descriptor that consists of a name. */
public record FakeDescriptor(String name, Target target, Id getId) implements PrimitiveDescriptor {
    public static FakeDescriptor of(String name) {
        return new FakeDescriptor(name, TestEntries.TARGET, TestEntries.id(name));
    }

    /** Returns the same inputs for another target. */
    public FakeDescriptor withTarget(Target other) {
        return new FakeDescriptor(name, other, getId.withTarget(other));
    }

    public static FakeDescriptor notCacheable(String name) {
        return new FakeDescriptor(name, TestEntries.TARGET, Id.notCacheable("for a test"));
    }
}
