package dev.granary.gpu.binary;

import dev.granary.gpu.device.CudaArchitecture;
import dev.granary.gpu.device.IntelProduct;

import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;

/**
 * The container around the device code of one binary: its format, and the device that it names.
 * Immutable.
 *
 * <p>It is read from any bytes without a driver. The layouts follow the sources of the drivers and
 * real files: see {@code docs/binaries.md}.
 */
public sealed interface BinaryContainer {
    /**
     * Returns the container of a binary. Any bytes have one: damaged ones {@link Malformed}, others
     * {@link Unrecognized}. Reads only headers and tables, not the device code, and allocates
     * memory in proportion to the bytes at most.
     *
     * @param binary the bytes, on or off the heap
     */
    static BinaryContainer read(MemorySegment binary) {
        return ContainerReader.read(new ContainerBytes(binary));
    }

    /** Returns format and device in one line of printable characters. */
    String description();

    /**
     * PoCL's container.
     *
     * @param version the version of the format
     * @param deviceHash the FNV-1 hash of the device's build string
     */
    record Pocl(int version, long deviceHash) implements BinaryContainer {
        private static final long FNV_OFFSET = 0xcbf2_9ce4_8422_2325L;
        private static final long FNV_PRIME = 0x100_0000_01b3L;

        /** Returns the hash of a device's build string: FNV-1 of 64 bits. */
        public static long hash(String build) {
            long hash = FNV_OFFSET;
            for (int i = 0; i < build.length(); i++) {
                hash = (hash * FNV_PRIME) ^ build.charAt(i);
            }
            return hash;
        }

        @Override
        public String description() {
            return "PoCL binary of version " + version + " for device hash "
                    + Long.toHexString(deviceHash);
        }
    }

    /**
     * Intel's zebin, an ELF file.
     *
     * @param family the number of the product family
     * @param core the number of the graphics core
     * @param steppings the permitted steppings of the device
     * @param version the version of the format, such as {@code 1.16}; empty if it is not named
     * @param productConfig the IP version of the device, in the encoding of the driver
     * @param hasIntermediate true if the driver could compile again from an embedded SPIR-V module
     */
    record Zebin(
            OptionalInt family,
            OptionalInt core,
            Steppings steppings,
            String version,
            OptionalInt productConfig,
            boolean hasIntermediate)
            implements BinaryContainer {
        @Override
        public String description() {
            StringBuilder text = new StringBuilder("Intel zebin");
            if (!version.isEmpty()) {
                text.append(' ').append(version);
            }
            return text.append(" for ")
                    .append(IntelProduct.describe(family, core))
                    .append(steppings.isAny() ? "" : ", " + steppings.description())
                    .append(hasIntermediate ? ", with SPIR-V" : "")
                    .toString();
        }
    }

    /**
     * The steppings of a device that a binary permits.
     *
     * @param first the first permitted stepping
     * @param last the last permitted stepping
     */
    record Steppings(int first, int last) {
        /** All steppings that the format can express. */
        static final Steppings ANY = new Steppings(0, Integer.MAX_VALUE);

        /** Returns true if there is no restriction. */
        public boolean isAny() {
            return last == Integer.MAX_VALUE;
        }

        /** Returns the range in words. */
        public String description() {
            return isAny()
                    ? "any stepping"
                    : first == last
                            ? "stepping " + first + " only"
                            : "steppings " + first + " to " + last;
        }
    }

    /**
     * Intel's older container of device code with patch tokens.
     *
     * @param version the version of the format
     * @param core the number of the graphics core
     */
    record PatchTokens(int version, int core) implements BinaryContainer {
        @Override
        public String description() {
            return "Intel patch tokens of version " + version + " for "
                    + IntelProduct.describe(OptionalInt.empty(), OptionalInt.of(core));
        }
    }

    /**
     * Intel's ELF file around device code and an intermediate program.
     *
     * @param device the container of the device code; {@link Unrecognized} if there is none
     * @param hasIntermediate true if the driver could compile again from an embedded program
     */
    record IntelProgram(BinaryContainer device, boolean hasIntermediate)
            implements BinaryContainer {
        @Override
        public String description() {
            return "Intel program of " + device.description()
                    + (hasIntermediate ? ", with an intermediate program" : "");
        }
    }

    /**
     * NVIDIA's machine code, an ELF file.
     *
     * @param architecture the architecture that it was compiled for
     */
    record Cubin(CudaArchitecture architecture) implements BinaryContainer {
        @Override
        public String description() {
            return "NVIDIA cubin for " + architecture.name();
        }
    }

    /**
     * NVIDIA's assembler text, which the driver compiles for its device.
     *
     * @param version the version of the language, such as {@code 9.0}
     * @param architecture the lowest architecture that it permits
     */
    record Ptx(String version, CudaArchitecture architecture) implements BinaryContainer {
        @Override
        public String description() {
            return "NVIDIA PTX " + version + " for " + architecture.name();
        }
    }

    /**
     * A SPIR-V module, which a driver compiles for its device.
     *
     * @param major the major version
     * @param minor the minor version
     */
    record SpirV(int major, int minor) implements BinaryContainer {
        /** The vendor in the target of intermediate programs, which are for any device. */
        public static final String VENDOR = "spirv";

        @Override
        public String description() {
            return "SPIR-V " + major + "." + minor;
        }
    }

    /**
     * Bytes that begin as a known container and contradict its format. Drivers end the process on
     * some of them.
     *
     * @param format the format, for people
     * @param reason the contradiction, in one line
     */
    record Malformed(String format, String reason) implements BinaryContainer {
        @Override
        public String description() {
            return "malformed " + format + ": " + reason;
        }
    }

    /**
     * Bytes of no known container.
     *
     * @param reason the observation, in one line
     */
    record Unrecognized(String reason) implements BinaryContainer {
        @Override
        public String description() {
            return "no known container: " + reason;
        }
    }
}
