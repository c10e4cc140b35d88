package dev.granary.gpu.opencl;

import dev.granary.gpu.binary.BinaryContainer;

import java.lang.foreign.MemorySegment;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The versions of SPIR-V that a device takes. A device takes the versions below its highest one as
 * well, since each minor version of SPIR-V contains those before it.
 *
 * @param languages the intermediate languages, as the driver reports them
 */
record SpirvSupport(List<String> languages) {
    private static final Pattern VERSION = Pattern.compile("SPIR-V_1\\.(\\d{1,3})");

    /** Returns the reason why the device does not take a sound module; empty if it does. */
    Optional<String> refusal(MemorySegment module) {
        Optional<Integer> highest = languages.stream()
                .map(VERSION::matcher)
                .filter(Matcher::matches)
                .map(version -> Integer.valueOf(version.group(1)))
                .max(Comparator.naturalOrder());
        if (highest.isEmpty()) {
            return Optional.of("takes no SPIR-V, only OpenCL C: give this device sources");
        }
        return BinaryContainer.read(module) instanceof BinaryContainer.SpirV(_, int minor)
                        && minor <= highest.get()
                ? Optional.empty()
                : Optional.of("takes SPIR-V up to 1." + highest.get() + ", and this is "
                        + BinaryContainer.read(module).description()
                        + ": compile it for that version");
    }
}
