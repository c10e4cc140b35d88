package dev.granary.benchmarks.bucket;

import java.io.IOException;

/** A new process that reads one object and says so. */
public final class FirstObjectProcess {
    private FirstObjectProcess() {}

    /**
     * Arguments: transport, endpoint, bucket, key; none: it says so at once, to tell what the JVM
     * alone takes.
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
        Runtime.getRuntime().halt(0); // how long a client takes to close is not asked
    }
}
