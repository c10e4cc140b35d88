/** The {@code granary} command, {@code kernels.toml}, and the demo with its kernels. */
module dev.granary.cli {
    requires com.google.gson;
    requires dev.granary.client.aws;
    requires dev.granary.client.minio;
    requires dev.granary.coordinator;
    requires dev.granary.opencl.lwjgl;
    requires dev.granary.s3.embedded;
    requires info.picocli;
    requires java.management;
    requires org.slf4j;
    requires org.tomlj;

    exports dev.granary.cli;
    exports dev.granary.demo;
    exports dev.granary.demo.kernels;

    opens dev.granary.cli to
            info.picocli;
    opens dev.granary.cli.command to
            info.picocli;
    opens dev.granary.cli.compiler to
            com.google.gson;
    opens dev.granary.cli.entry to
            info.picocli;
    opens dev.granary.cli.kernel to
            info.picocli;
    opens dev.granary.cli.operation to
            info.picocli;
    opens dev.granary.cli.option to
            info.picocli;
}
