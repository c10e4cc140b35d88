package dev.granary.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Tests of programs that use this module without a client library. */
class ObjectStoreFactoryTest {
    /** The starts of the names of both libraries' jars. */
    private static final List<String> CLIENTS = List.of("s3-", "apache5-client", "minio-");

    @Test
    @DisplayName("without a client library, the factory, each load and each store have the"
            + " artifact to add, and a tier throws nothing")
    void missing() throws Exception {
        List<String> lines = ChildJvm.of(MissingClientProcess.class)
                .shortLived()
                .classPath(part -> CLIENTS.stream()
                        .noneMatch(name -> String.valueOf(part.getFileName()).startsWith(name)))
                .run()
                .lines();
        assertEquals(6, lines.size(), lines::toString);
        Stream.of("AWS", "MINIO").forEach(client -> {
            String message = "The client library of bucket kernels is missing: add"
                    + " dev.granary:granary-client-" + client.toLowerCase(Locale.ROOT)
                    + " to the program";
            List<String> own =
                    lines.stream().filter(line -> line.startsWith(client + " ")).toList();
            assertEquals(client + " " + message, own.getFirst());
            assertTrue(own.stream().allMatch(line -> line.contains(message)), own::toString);
        });
    }
}
