/** A program with launch code of its own, and with its own version of LWJGL. */
module com.example.sky {
    requires dev.granary.client.aws;
    requires dev.granary.coordinator;
    requires org.lwjgl;
    requires org.lwjgl.natives;
    requires org.lwjgl.opencl;
}
