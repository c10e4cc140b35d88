package dev.granary.s3;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.contract.PersistentCacheContract;
import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.KnownServer;
import dev.granary.s3.contract.ScriptedServer;
import dev.granary.s3.contract.ServerFacts;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/**
 * The suites on Ceph's object gateway; needs its packages. One class runs in one JVM, which starts
 * one server.
 */
class CephTest {
    /** The bucket tier through a client library as a persistent cache. */
    abstract static class BucketTierContract extends PersistentCacheContract {
        private final S3Config config;

        BucketTierContract(S3ClientLibrary client) {
            config = ScriptedServer.of(KnownServer.CEPH).config().client(client).build();
        }

        @Override
        protected PersistentCache openCache() {
            return BucketTier.open(config);
        }
    }

    @Nested
    class Facts extends ServerFacts {
        Facts() {
            super(ScriptedServer.of(KnownServer.CEPH));
        }
    }

    @Nested
    class AwsTransport extends TransportContract {
        AwsTransport() {
            super(ScriptedServer.of(KnownServer.CEPH), S3ClientLibrary.AWS);
        }
    }

    @Nested
    class AwsBucketTier extends BucketTierContract {
        AwsBucketTier() {
            super(S3ClientLibrary.AWS);
        }
    }

    @Nested
    @Tag("exhaustive")
    class MinioTransport extends TransportContract {
        MinioTransport() {
            super(ScriptedServer.of(KnownServer.CEPH), S3ClientLibrary.MINIO);
        }
    }

    @Nested
    @Tag("exhaustive")
    class MinioBucketTier extends BucketTierContract {
        MinioBucketTier() {
            super(S3ClientLibrary.MINIO);
        }
    }
}
