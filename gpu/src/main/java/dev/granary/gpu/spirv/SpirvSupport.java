package dev.granary.gpu.spirv;

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
public record SpirvSupport(String vendor, List<String> languages) {
    private static final Pattern VERSION = Pattern.compile("SPIR-V_1\\.(\\d{1,3})");
    private static final int INTEL_MINOR = 4;

    /**
     * Checks that the device takes the SPIR-V of a descriptor, if it has some.
     *
     * @param device the device, for the message
     * @throws CompileException if not, with the reason
     */
    public void check(KernelDescriptor descriptor, String device) throws CompileException {
        Optional<String> refusal = descriptor.spirv().flatMap(this::refusal);
        if (refusal.isPresent()) {
            throw new CompileException(
                    descriptor.name() + " does not compile: " + device + " " + refusal.get(), "");
        }
    }

    /** Returns the reason why the device does not take a sound module; empty if it does. */
    Optional<String> refusal(MemorySegment module) {
        OptionalInt reported = languages.stream()
                .map(VERSION::matcher)
                .filter(Matcher::matches)
                .mapToInt(version -> Integer.parseInt(version.group(1)))
                .max();
        if (reported.isEmpty()) {
            return Optional.of("takes no SPIR-V, only OpenCL C: give this device sources");
        }
        int highest = vendor.equals(IntelDevice.VENDOR)
                ? Math.max(INTEL_MINOR, reported.getAsInt())
                : reported.getAsInt();
        BinaryContainer container = BinaryContainer.read(module);
        return container instanceof BinaryContainer.SpirV spirv && spirv.minor() <= highest
                ? Optional.empty()
                : Optional.of("takes SPIR-V up to 1." + highest + ", and this is "
                        + container.description() + ": compile it for that version");
    }
}
