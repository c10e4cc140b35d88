package dev.granary.gpu.offline;

import dev.granary.cache.Backend;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The version of Intel's driver that an {@code ocloc} was built with. A binary is for the driver of
 * the same version, in each of its backends.
 *
 * @param text the version as OpenCL reports it, such as {@code 22.43.24595.41}
 * @param year the first number
 * @param build the number of the build, which Level Zero's version has too
 */
record DriverVersion(String text, int year, int build) {
    private static final Pattern OPENCL =
            Pattern.compile("(\\d{2})\\.(\\d{1,2})\\.(\\d{4,6})((?:\\.\\d{1,6})?)");
    private static final Pattern LEVEL_ZERO = Pattern.compile("\\d{1,3}\\.\\d{1,3}\\.(\\d{1,6})");

    /** Level Zero's version of the drivers of {@link #LEVEL_ZERO_YEAR}, before the build. */
    private static final String LEVEL_ZERO_PREFIX = "1.3.";

    /**
     * The year of drivers whose Level Zero version follows from OpenCL's, and which do not report
     * the version of the architecture. Later ones have other versions, and report it.
     */
    private static final int LEVEL_ZERO_YEAR = 22;

    /** A version of Level Zero has 16 bits for the build. */
    private static final int BUILD_MASK = 0xffff;

    static Optional<DriverVersion> parse(String text) {
        Matcher numbers = OPENCL.matcher(text);
        return numbers.matches()
                ? Optional.of(new DriverVersion(
                        text,
                        Integer.parseInt(numbers.group(1)),
                        Integer.parseInt(numbers.group(3))))
                : Optional.empty();
    }

    /** Returns the version that a backend reports; empty if it does not follow from this one. */
    Optional<String> of(Backend backend) {
        if (backend.equals(Backend.OPENCL)) {
            return Optional.of(text);
        }
        return year == LEVEL_ZERO_YEAR
                ? Optional.of(LEVEL_ZERO_PREFIX + (build & BUILD_MASK))
                : Optional.empty();
    }

    /** Returns true if {@code driver} is this version as the backend may report it. */
    boolean isDriver(Backend backend, String driver) {
        if (backend.equals(Backend.OPENCL)) {
            return driver.equals(text);
        }
        Matcher numbers = LEVEL_ZERO.matcher(driver);
        return numbers.matches() && Integer.parseInt(numbers.group(1)) == (build & BUILD_MASK);
    }
}
