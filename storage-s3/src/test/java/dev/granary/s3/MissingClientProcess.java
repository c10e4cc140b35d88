package dev.granary.s3;

import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;

import java.net.URI;

/** Uses buckets through client libraries that are not on the class path. */
final class MissingClientProcess {
    private MissingClientProcess() {}

    /** Prints three lines for each library: of the factory, of a load and of a store. */
    public static void main(String[] args) {
        for (S3ClientLibrary client : S3ClientLibrary.values()) {
            S3Config config = S3Config.builder("kernels")
                    .endpoint(URI.create("http://127.0.0.1:1"))
                    .client(client)
                    .credentials("key", "secret")
                    .build();
            try {
                ObjectStoreFactory.open(config).close();
                System.out.println(client + " opened");
            } catch (IllegalStateException e) {
                System.out.println(client + " " + e.getMessage());
            }
            try (BucketTier tier = BucketTier.open(config)) {
                System.out.println(
                        switch (tier.load(TestEntries.id("first"))) {
                            case LoadResult.Unavailable(String cause) -> client + " " + cause;
                            case LoadResult other -> client + " " + other;
                        });
                System.out.println(
                        switch (tier.store(TestEntries.entry(
                                TestEntries.id("first"), KernelBinaries.of(new byte[] {1})))) {
                            case StoreResult.Failed(String cause) -> client + " " + cause;
                            case StoreResult other -> client + " " + other;
                        });
            }
        }
    }
}
