/**
 * GPU engines that compile kernels, take their binaries and restore them: OpenCL through LWJGL, and
 * Level Zero through the foreign function interface of the JDK. A program with OpenCL requires
 * {@code dev.granary.opencl.lwjgl} as well, with LWJGL.
 */
module dev.granary.gpu {
    requires transitive dev.granary.cache;
    requires org.slf4j;
    // The binding of OpenCL is optional: dev.granary.opencl.lwjgl requires it.
    requires static org.lwjgl;
    requires static org.lwjgl.opencl;

    exports dev.granary.gpu;
    exports dev.granary.gpu.binary;
    exports dev.granary.gpu.binary.compatibility;
    exports dev.granary.gpu.device;
    exports dev.granary.gpu.opencl;
    exports dev.granary.gpu.spirv;
    exports dev.granary.gpu.composite;
    exports dev.granary.gpu.levelzero;
    exports dev.granary.gpu.offline;
    exports dev.granary.gpu.plan;
    exports dev.granary.gpu.plan.nest;
    exports dev.granary.gpu.plan.picture;
    exports dev.granary.gpu.plan.tuning;
}
