package dev.granary.s3;

import dev.granary.s3.contract.ObjectStoreContract;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.store.ObjectStore;

/** The contract of object stores on a transport and the server of the tests. */
abstract class TransportContract extends ObjectStoreContract {
    private final S3Client client;
    private final S3Config config;

    TransportContract(S3Client client) {
        this.client = client;
        this.config = TestS3.server().config().client(client).build();
    }

    @Override
    protected ObjectStore openStore() {
        return ObjectStores.open(config);
    }

    @Override
    protected ObjectStore openUnknownBucket() {
        return ObjectStores.open(TestS3.server().config("granary-no-such-bucket").client(client).build());
    }

    @Override
    protected ObjectStore openWithWrongCredentials() {
        return ObjectStores.open(TestS3.server().config().client(client).credentials("nobody", "knows-this-secret").build());
    }

    @Override
    protected String prefix() {
        return config.location().prefix() + "/";
    }
}
