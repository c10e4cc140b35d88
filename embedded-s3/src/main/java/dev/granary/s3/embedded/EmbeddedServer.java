package dev.granary.s3.embedded;

import java.io.IOException;
import java.nio.file.Path;

/**
 * The embedded S3 server as a process: prints its endpoint and credentials, and serves until it is
 * killed.
 */
public final class EmbeddedServer {
    private EmbeddedServer() {}

    /** Starts the server. The only argument is the directory of the objects. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        EmbeddedS3 server = EmbeddedS3.start(Path.of(arguments[0]));
        System.out.println("listening " + server.endpoint() + " " + server.accessKey() + " "
                + server.secretKey());
        Thread.currentThread().join(); // forever
    }
}
