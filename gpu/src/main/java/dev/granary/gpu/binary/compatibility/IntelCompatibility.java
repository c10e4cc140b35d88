package dev.granary.gpu.binary.compatibility;

import dev.granary.cache.Target;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.binary.BinaryContainer.IntelArchive;
import dev.granary.gpu.binary.BinaryContainer.IntelProgram;
import dev.granary.gpu.binary.BinaryContainer.Malformed;
import dev.granary.gpu.binary.BinaryContainer.Member;
import dev.granary.gpu.binary.BinaryContainer.PatchTokens;
import dev.granary.gpu.binary.BinaryContainer.Zebin;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Undetermined;
import dev.granary.gpu.device.IntelDevice;
import dev.granary.gpu.device.IntelProduct;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * Rules for Intel's binaries. The driver compares product family, graphics core and stepping; a
 * target has the PCI device id, for which {@link IntelProduct} has family and core.
 */
final class IntelCompatibility {
    private IntelCompatibility() {}

    static BinaryCompatibility check(Target target, BinaryContainer container) {
        Optional<IntelProduct> product = IntelDevice.of(target).flatMap(IntelDevice::product);
        if (product.isEmpty()) {
            return new Undetermined(container.description() + "; the product of the device "
                    + target.device() + " is unknown");
        }
        return check(product.get(), container);
    }

    private static BinaryCompatibility check(IntelProduct product, BinaryContainer container) {
        if (container instanceof Zebin zebin) {
            return check(product, zebin);
        }
        if (container instanceof PatchTokens tokens) {
            return tokens.core() == product.core()
                    ? new Compatible(tokens)
                    : incompatible(product, tokens);
        }
        if (container instanceof IntelProgram program) {
            return check(product, program.device());
        }
        if (container instanceof IntelArchive archive) {
            return check(product, archive);
        }
        return container instanceof Malformed
                ? new Incompatible(container.description())
                : new Undetermined(container.description());
    }

    private static BinaryCompatibility check(IntelProduct product, Zebin zebin) {
        if (differs(zebin.family(), product.family()) || differs(zebin.core(), product.core())) {
            return incompatible(product, zebin);
        }
        if (zebin.family().isEmpty() && zebin.core().isEmpty()) {
            return new Undetermined(zebin.description());
        }
        if (!zebin.steppings().isAny()) {
            return new Undetermined(zebin.description() + "; a target has no stepping");
        }
        // one product family may have several configurations, with code of their own
        return zebin.productConfig().isPresent()
                ? new Undetermined(zebin.description() + ", of a configuration that a target lacks")
                : new Compatible(zebin);
    }

    /** The driver takes one file for its device. */
    private static BinaryCompatibility check(IntelProduct product, IntelArchive archive) {
        BinaryCompatibility best =
                new Incompatible(archive.description() + ", none of them for " + product.words());
        for (Member member : archive.members()) {
            BinaryCompatibility one = check(product, member.container());
            if (one instanceof Compatible) {
                return one;
            }
            if (one instanceof Undetermined) {
                best = one;
            }
        }
        return best;
    }

    private static boolean differs(OptionalInt named, int expected) {
        return named.isPresent() && named.getAsInt() != expected;
    }

    private static Incompatible incompatible(IntelProduct product, BinaryContainer container) {
        return new Incompatible(container.description() + ", not for " + product.words());
    }
}
