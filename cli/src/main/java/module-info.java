/** The {@code granary} command and {@code kernels.toml}. */
module dev.granary.cli {
    requires com.google.gson;
    requires dev.granary.client.aws;
    requires dev.granary.client.minio;
    requires dev.granary.coordinator;
    requires dev.granary.local;
    requires dev.granary.opencl.lwjgl;
    requires dev.granary.plans;
    requires dev.granary.wrap;
    requires dev.granary.s3;
    requires info.picocli;
    requires java.management;
    requires java.xml;
    requires jdk.httpserver;
    requires jdk.jfr;
    requires org.slf4j;

    exports dev.granary.cli;

    opens dev.granary.cli to
            info.picocli;
    opens dev.granary.cli.entry to
            info.picocli;
    opens dev.granary.cli.kernel to
            info.picocli;
    opens dev.granary.cli.option to
            info.picocli;
}
