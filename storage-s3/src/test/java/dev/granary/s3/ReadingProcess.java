package dev.granary.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ObjectStore;

import java.lang.foreign.ValueLayout;
import java.net.URI;

/** Reads objects through each client library that is present, with what the environment sets. */
final class ReadingProcess {
    private ReadingProcess() {}

    /** Prints a line for each endpoint and library. Arguments: the endpoints. */
    public static void main(String[] endpoints) {
        for (String endpoint : endpoints) {
            for (S3ClientLibrary client : S3ClientLibrary.values()) {
                if (client.isPresent()) {
                    System.out.println(
                            endpoint + " " + client + "=" + read(client, URI.create(endpoint)));
                }
            }
        }
    }

    private static String read(S3ClientLibrary client, URI endpoint) {
        S3Config config =
                S3Config.builder("bucket").endpoint(endpoint).client(client).build();
        try (ObjectStore store = ObjectStoreFactory.open(config)) {
            return switch (store.get("key", 100)) {
                case GetResult.Found found ->
                    new String(found.bytes().toArray(ValueLayout.JAVA_BYTE), UTF_8);
                case GetResult.Unavailable(var failure) -> failure.kind() + " " + failure;
                case GetResult other -> other.toString();
            };
        } catch (IllegalStateException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
