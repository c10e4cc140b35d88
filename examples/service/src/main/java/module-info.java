/** The service. Its S3 client is a module that nothing else resolves. */
module com.example.service {
    requires dev.granary.client.aws;
    requires dev.granary.coordinator;
    requires dev.granary.metrics;
    requires jdk.httpserver;
    requires micrometer.registry.prometheus;
    requires org.lwjgl;
    requires org.lwjgl.opencl;
}
