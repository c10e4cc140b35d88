/** The service. Its S3 client and OpenCL's binding are modules that nothing else resolves. */
module com.example.service {
    requires dev.granary.client.aws;
    requires dev.granary.coordinator;
    requires dev.granary.metrics;
    requires dev.granary.opencl.lwjgl;
    requires jdk.httpserver;
    requires micrometer.registry.prometheus;
    requires org.lwjgl;
    requires org.lwjgl.opencl;
}
