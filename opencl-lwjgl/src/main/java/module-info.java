/**
 * LWJGL as the binding of OpenCL. The module has no code: it resolves the modules that
 * {@code dev.granary.gpu} uses optionally, and the natives of the platform, which nothing else
 * requires.
 */
module dev.granary.opencl.lwjgl {
    requires transitive dev.granary.gpu;
    requires org.lwjgl;
    requires org.lwjgl.natives;
    requires org.lwjgl.opencl;
}
