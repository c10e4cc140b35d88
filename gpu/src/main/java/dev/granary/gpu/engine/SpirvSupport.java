package dev.granary.gpu.engine;

import dev.granary.cache.CompileException;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.binary.BinaryContainer;
import dev.granary.gpu.device.IntelDevice;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The versions of SPIR-V that a device takes. Those below its highest one are among them, since
 * each minor version contains the ones before it.
 *
 * <p>Intel's driver reports 1.2 and compiles up to 1.4, which its own front end makes. It ends the
 * process on 1.5, so the version is checked before the driver.
 *
 * @param vendor the vendor of the device's target
 * @param languages the intermediate languages, as the driver reports them
 */
record SpirvSupport(String vendor, List<String> languages) {
    private static final Pattern VERSION = Pattern.compile("SPIR-V_1\\.(\\d{1,3})");
    private static final int INTEL_MINOR = 4;

    /**
     * Checks that the device takes the module of a descriptor, or one that a front end has made of
     * its source. A driver that reports no version decides on the latter itself.
     *
     * @param device the device, for the message
     * @throws CompileException if not, with the reason
     */
    void check(KernelDescriptor descriptor, MemorySegment module, String device)
            throws CompileException {
        boolean isKnown = descriptor.spirv().isPresent()
                || (highest().isPresent()
                        && BinaryContainer.read(module) instanceof BinaryContainer.SpirV);
        Optional<String> refusal = isKnown ? refusal(module) : Optional.empty();
        if (refusal.isPresent()) {
            throw new CompileException(
                    descriptor.name() + " does not compile: " + device + " " + refusal.get(), "");
        }
    }

    /** Returns the reason why the device does not take a sound module; empty if it does. */
    Optional<String> refusal(MemorySegment module) {
        OptionalInt highest = highest();
        if (highest.isEmpty()) {
            return Optional.of("takes no SPIR-V, only OpenCL C: give this device sources");
        }
        BinaryContainer container = BinaryContainer.read(module);
        return container instanceof BinaryContainer.SpirV spirv
                        && spirv.minor() <= highest.getAsInt()
                ? Optional.empty()
                : Optional.of("takes SPIR-V up to 1." + highest.getAsInt() + ", and this is "
                        + container.description() + ": compile it for that version");
    }

    /** Returns the highest minor version that the device takes; empty if it takes none. */
    private OptionalInt highest() {
        OptionalInt reported = languages.stream()
                .map(VERSION::matcher)
                .filter(Matcher::matches)
                .mapToInt(version -> Integer.parseInt(version.group(1)))
                .max();
        return reported.isPresent() && vendor.equals(IntelDevice.VENDOR)
                ? OptionalInt.of(Math.max(INTEL_MINOR, reported.getAsInt()))
                : reported;
    }
}
