package dev.granary.benchmarks.bucket.transport;

import java.io.IOException;

/** A new process that reads one object and prints a line. */
public final class FirstObjectProcess {
    private FirstObjectProcess() {}

    /**
     * Arguments: transport, endpoint, bucket, key. Without arguments the process prints its line at
     * once, which gives the time of the JVM alone.
     */
    public static void main(String[] arguments) throws IOException {
        long bytes = 0;
        if (arguments.length > 0) {
            ObjectReader reader = TransportCandidate.valueOf(arguments[0])
                    .open(TransportCandidate.connection(arguments[1], arguments[2]));
            bytes = reader.read(arguments[3]);
        }
        System.out.println(bytes);
        System.out.flush();
        Runtime.getRuntime().halt(0); // closing the client is not part of the time
    }
}
