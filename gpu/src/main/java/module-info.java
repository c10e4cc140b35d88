/**
 * GPU engines that compile kernels, take their binaries and restore them: OpenCL through LWJGL, and
 * Level Zero through the foreign function interface of the JDK. A program with OpenCL requires
 * {@code dev.granary.opencl.lwjgl} as well, with LWJGL.
 */
@SuppressWarnings("module") // the modules named in qualified exports are built later
module dev.granary.gpu {
    requires transitive dev.granary.cache;
    requires org.slf4j;
    // The binding of OpenCL is optional: dev.granary.opencl.lwjgl requires it.
    requires static org.lwjgl;
    requires static org.lwjgl.opencl;

    exports dev.granary.gpu;
    exports dev.granary.gpu.binary to
            dev.granary.cli,
            dev.granary.coordinator;
    exports dev.granary.gpu.binary.compatibility to
            dev.granary.cli,
            dev.granary.coordinator;
    exports dev.granary.gpu.device to
            dev.granary.cli,
            dev.granary.coordinator;
    exports dev.granary.gpu.opencl;
    exports dev.granary.gpu.source to
            dev.granary.cli;
    exports dev.granary.gpu.spirv;
    exports dev.granary.gpu.composite;
    exports dev.granary.gpu.levelzero;
    exports dev.granary.gpu.offline to
            dev.granary.cli,
            dev.granary.coordinator;
}
