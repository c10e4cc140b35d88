package dev.granary.gpu.binary.compatibility;

import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.binary.BinaryContainer.Cubin;
import dev.granary.gpu.binary.BinaryContainer.IntelProgram;
import dev.granary.gpu.binary.BinaryContainer.Malformed;
import dev.granary.gpu.binary.BinaryContainer.PatchTokens;
import dev.granary.gpu.binary.BinaryContainer.Pocl;
import dev.granary.gpu.binary.BinaryContainer.Ptx;
import dev.granary.gpu.binary.BinaryContainer.SpirV;
import dev.granary.gpu.binary.BinaryContainer.Unrecognized;
import dev.granary.gpu.binary.BinaryContainer.Zebin;
import dev.granary.gpu.binary.SpirVReader;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Compatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Incompatible;
import dev.granary.gpu.binary.compatibility.BinaryCompatibility.Undetermined;
import dev.granary.gpu.device.CudaArchitecture;
import dev.granary.gpu.device.DriverTraits;
import dev.granary.gpu.device.IntelDevice;
import dev.granary.gpu.device.IntelProduct;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A check whether binaries are for a target. It reads their containers and calls no driver.
 *
 * <p>{@link Incompatible} is certain: the driver would refuse the binary, compile it anew, or crash
 * on it. Anything unknown, such as the driver of another vendor, is {@link Undetermined}.
 */
public final class CompatibilityChecker {
    // vendors in targets
    private static final String POCL = DriverTraits.POCL;
    private static final String INTEL = IntelDevice.VENDOR;
    private static final String NVIDIA = "nvidia";

    private static final int INTERMEDIATE_BINARIES = 2;
    private static final int IDENTITY_LIMIT = 200;

    // By their sources, versions 8 to 12 have this hash. A rule that is wrong for a version would
    // discard all its entries, so it needs one whose binaries were compared with the driver.
    private static final int VERIFIED_POCL_VERSION = 9;

    /** The device of a target of NVIDIA ends with this mark and the compute capability. */
    private static final String CAPABILITY = " sm ";

    private static final int NONE = -1;

    private CompatibilityChecker() {}

    /**
     * Returns the result for the binaries of one primitive: compatible if all are, incompatible if
     * one is, else undetermined. An intermediate program is compatible if it has no defect.
     */
    public static BinaryCompatibility check(Target target, KernelBinaries binaries) {
        if (target.vendor().equals(SpirV.VENDOR)) {
            return checkIntermediate(binaries);
        }
        BinaryCompatibility all = new Undetermined("there are no binaries");
        for (int i = 0; i < binaries.segments().size(); i++) {
            BinaryCompatibility one = check(target, binaries.segments().get(i));
            if (one instanceof Incompatible) {
                return one;
            }
            if (i == 0 || one instanceof Undetermined) {
                all = one;
            }
        }
        return all;
    }

    /** Returns the result for one binary. */
    public static BinaryCompatibility check(Target target, MemorySegment binary) {
        // no switch by patterns here and below: each costs the first restore of a process
        // milliseconds
        String vendor = target.vendor();
        if (!vendor.equals(POCL) && !vendor.equals(INTEL) && !vendor.equals(NVIDIA)) {
            return new Undetermined("the binaries of " + vendor + " have no known container");
        }
        BinaryContainer container = BinaryContainer.read(binary);
        if (container instanceof Pocl pocl && vendor.equals(POCL)) {
            return checkPocl(target, pocl);
        }
        if (container instanceof Malformed) {
            return new Incompatible(container.description());
        }
        if (container instanceof Unrecognized || container instanceof SpirV) {
            return new Undetermined(container.description() + ", which the driver may compile");
        }
        String owner = container instanceof Pocl
                ? POCL
                : container instanceof Cubin || container instanceof Ptx ? NVIDIA : INTEL;
        if (!vendor.equals(owner)) {
            return new Incompatible(
                    container.description() + ", which no driver of " + vendor + " reads");
        }
        return owner.equals(NVIDIA) ? checkCuda(target, container) : checkIntel(target, container);
    }

    /** The rule: a module of SPIR-V without defects, and the identity of its front end. */
    private static BinaryCompatibility checkIntermediate(KernelBinaries binaries) {
        if (binaries.segments().size() != INTERMEDIATE_BINARIES) {
            return new Incompatible("an intermediate program has " + INTERMEDIATE_BINARIES
                    + " binaries, not " + binaries.segments().size());
        }
        if (!isIdentity(binaries.segments().get(1))) {
            return new Incompatible("the identity of the front end is no line of text");
        }
        Optional<String> defect = SpirVReader.defect(binaries.segments().getFirst());
        return defect.isPresent()
                ? new Incompatible("malformed intermediate program: " + defect.get())
                : new Compatible(BinaryContainer.read(binaries.segments().getFirst()));
    }

    private static boolean isIdentity(MemorySegment text) {
        if (text.byteSize() == 0 || text.byteSize() > IDENTITY_LIMIT) {
            return false;
        }
        for (long i = 0; i < text.byteSize(); i++) {
            byte c = text.get(ValueLayout.JAVA_BYTE, i);
            if (c < ' ' || c > '~') {
                return false;
            }
        }
        return true;
    }

    /**
     * PoCL compares the hash in the container with that of its device's build string, which
     * {@code CL_DEVICE_VERSION} ends with, and thus the target's device.
     */
    private static BinaryCompatibility checkPocl(Target target, Pocl binary) {
        if (binary.deviceHash() == Pocl.hash(target.device())) {
            return new Compatible(binary);
        }
        if (binary.version() != VERIFIED_POCL_VERSION) {
            return new Undetermined(
                    binary.description() + ", a version whose hash was not verified");
        }
        return new Incompatible(binary.description() + ", not for " + target.device() + " with "
                + Long.toHexString(Pocl.hash(target.device())));
    }

    /**
     * The rules are in the compatibility chapter of NVIDIA's programming guide. Machine code runs
     * on its architecture, and on some later ones of the same major number. Assembler text is
     * compiled for its architecture and all later ones, unless it uses features of one alone.
     */
    private static BinaryCompatibility checkCuda(Target target, BinaryContainer container) {
        int device = capability(target);
        if (device == NONE) {
            return new Undetermined(container.description() + "; the compute capability of "
                    + target.device() + " is unknown");
        }
        boolean isText = container instanceof Ptx;
        CudaArchitecture code = container instanceof Ptx ptx
                ? ptx.architecture()
                : ((Cubin) container).architecture();
        if (code.number() == device || (isText && code.number() < device && code.isForLater())) {
            return new Compatible(container);
        }
        if (code.number() > device || (!isText && code.major() != device / 10)) {
            return new Incompatible(container.description() + ", not for sm_" + device);
        }
        return new Undetermined(container.description()
                + (isText
                        ? ", not for all later ones"
                        : ", of the same major number as sm_" + device));
    }

    /** Returns the capability times ten, such as 90 for 9.0. */
    private static int capability(Target target) {
        int mark = target.device().lastIndexOf(CAPABILITY);
        String text = mark < 0 ? "" : target.device().substring(mark + CAPABILITY.length());
        int dot = text.length() - 2;
        if ((dot != 1 && dot != 2) || text.charAt(dot) != '.') {
            return NONE;
        }
        String digits = text.substring(0, dot) + text.substring(dot + 1);
        return digits.chars().allMatch(c -> c >= '0' && c <= '9') ? Integer.parseInt(digits) : NONE;
    }

    /**
     * Intel's driver compares product family, graphics core and stepping; a target has the PCI
     * device id, for which {@link IntelProduct} has family and core.
     */
    private static BinaryCompatibility checkIntel(Target target, BinaryContainer container) {
        Optional<IntelProduct> product = IntelDevice.of(target).flatMap(IntelDevice::product);
        return product.isPresent()
                ? checkIntel(product.get(), container)
                : new Undetermined(container.description() + "; the product of the device "
                        + target.device() + " is unknown");
    }

    private static BinaryCompatibility checkIntel(IntelProduct product, BinaryContainer container) {
        if (container instanceof IntelProgram program) {
            return checkIntel(product, program.device());
        }
        if (container instanceof Zebin zebin) {
            return checkZebin(product, zebin);
        }
        if (container instanceof PatchTokens tokens) {
            return tokens.core() == product.core()
                    ? new Compatible(tokens)
                    : incompatible(product, tokens);
        }
        return container instanceof Malformed
                ? new Incompatible(container.description())
                : new Undetermined(container.description());
    }

    private static BinaryCompatibility checkZebin(IntelProduct product, Zebin zebin) {
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

    private static boolean differs(OptionalInt named, int expected) {
        return named.isPresent() && named.getAsInt() != expected;
    }

    private static Incompatible incompatible(IntelProduct product, BinaryContainer container) {
        return new Incompatible(container.description() + ", not for " + product.words());
    }
}
