package dev.granary.gpu.device;

/**
 * An architecture of NVIDIA's devices, such as {@code sm_90}: the compute capability 9.0.
 *
 * @param number ten times the major number, plus the minor one
 * @param suffix {@code a} or {@code f} if code uses features of this architecture or family alone;
 *     empty otherwise
 */
public record CudaArchitecture(int number, String suffix) {
    /** Returns the major number of the compute capability. */
    public int major() {
        return number / 10;
    }

    /** Returns true if code in assembler text is for later architectures too. */
    public boolean isForLater() {
        return suffix.isEmpty();
    }

    /** Returns the name, such as {@code sm_90a}. */
    public String name() {
        return "sm_" + number + suffix;
    }
}
