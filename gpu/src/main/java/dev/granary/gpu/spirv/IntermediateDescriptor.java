package dev.granary.gpu.spirv;

import dev.granary.cache.Backend;
import dev.granary.cache.Id;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.BinaryContainer.SpirV;

import java.util.Optional;

/**
 * The key of an {@link IntermediateProgram}: the inputs of a front end. Immutable and thread-safe.
 *
 * <p>The id has the fields of the kernel's id without target, launches and options of the driver.
 * So one intermediate program serves all devices and versions of the driver. If the source is not
 * {@linkplain KernelDescriptor#isPortable() portable}, the device is a field as well.
 *
 * <p>The first program of a kernel has no front end in its id, since a machine without one could
 * not compute it. A program that another front end makes has an id of its own, with that front end.
 */
public final class IntermediateDescriptor implements PrimitiveDescriptor {
    /** The value of the field {@code kind} in keys of intermediate programs. */
    public static final String KIND = "intermediate";

    /** The target of all intermediate programs, and so their namespace in every store. */
    public static final Target TARGET = new Target(Backend.LEVEL_ZERO, SpirV.VENDOR, "any", "any");

    private final KernelDescriptor kernel;
    private final Optional<String> frontEnd;
    private final Id id;

    private IntermediateDescriptor(KernelDescriptor kernel, Optional<String> frontEnd) {
        this.kernel = kernel;
        this.frontEnd = frontEnd;
        this.id = id(kernel, frontEnd);
    }

    /** Returns the key of the first intermediate program of a kernel, of whichever front end. */
    public static IntermediateDescriptor of(KernelDescriptor kernel) {
        return new IntermediateDescriptor(kernel, Optional.empty());
    }

    /** Returns the key of the intermediate program that this front end makes. */
    public IntermediateDescriptor by(String identity) {
        return new IntermediateDescriptor(kernel, Optional.of(identity));
    }

    /** Returns true for the id of an intermediate program. */
    public static boolean isIntermediate(Id id) {
        return !id.isEmpty() && id.target().equals(TARGET);
    }

    private static Id id(KernelDescriptor kernel, Optional<String> frontEnd) {
        Id ofKernel = kernel.getId();
        if (ofKernel.isEmpty()) {
            return ofKernel;
        }
        Id.Builder key = Id.builder(TARGET).field("kind", KIND);
        for (Id.Field field : ofKernel.fields()) {
            boolean isInput =
                    switch (field.name()) {
                        case "backend", "vendor", "device", "driver", "kind", "launch" -> false;
                        case "option" -> !SpirvCompiler.isForDriver(field.text());
                        default -> true;
                    };
            if (isInput) {
                key.field(field.name(), field.value());
            }
        }
        if (!kernel.isPortable()) {
            key.field(
                    "front-end-device",
                    kernel.target().vendor() + "/" + kernel.target().device());
        }
        frontEnd.ifPresent(identity -> key.field("front-end", identity));
        return key.build();
    }

    /** Returns the identity of the front end; empty in the key of the first program. */
    Optional<String> frontEnd() {
        return frontEnd;
    }

    /** Returns the kernel that is compiled. */
    public KernelDescriptor kernel() {
        return kernel;
    }

    @Override
    public Id getId() {
        return id;
    }

    @Override
    public Target target() {
        return TARGET;
    }

    @Override
    public String name() {
        return kernel.name();
    }

    @Override
    public String readableKey() {
        return "SPIR-V of " + kernel.readableKey()
                + frontEnd.map(identity -> ", by " + identity).orElse("");
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof IntermediateDescriptor that
                && kernel.equals(that.kernel)
                && frontEnd.equals(that.frontEnd);
    }

    @Override
    public int hashCode() {
        return 31 * kernel.hashCode() + frontEnd.hashCode();
    }

    @Override
    public String toString() {
        return readableKey();
    }
}
