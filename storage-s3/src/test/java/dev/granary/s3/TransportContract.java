package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.contract.Deviation;
import dev.granary.s3.contract.ObjectStoreContract;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.store.ObjectStore;

import java.util.Set;
import java.util.UUID;

/** The contract of object stores for a transport and a server. */
abstract class TransportContract extends ObjectStoreContract {
    private final TestS3 server;
    private final S3ClientLibrary client;
    private final S3Config config;

    TransportContract(TestS3 server, S3ClientLibrary client) {
        this.server = server;
        this.client = client;
        this.config = server.config().client(client).build();
    }

    @Override
    protected Set<Deviation> deviations() {
        return server.deviations();
    }

    @Override
    protected ObjectStore openStore() {
        return ObjectStoreFactory.open(config);
    }

    @Override
    protected ObjectStore openUnknownBucket() {
        return ObjectStoreFactory.open(server.config("granary-none-" + UUID.randomUUID())
                .client(client)
                .build());
    }

    @Override
    protected ObjectStore openWithWrongCredentials() {
        return ObjectStoreFactory.open(server.config()
                .client(client)
                .credentials("nobody", "knows-this-secret")
                .build());
    }

    @Override
    protected String prefix() {
        return config.location().prefix() + "/";
    }
}
