package dev.granary.s3;

import dev.granary.s3.contract.Deviation;
import dev.granary.s3.contract.ObjectStoreContract;
import dev.granary.s3.contract.TestS3;
import dev.granary.s3.store.Marks;
import dev.granary.s3.store.ObjectStore;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import software.amazon.awssdk.core.sync.RequestBody;

/** The contract of object stores on a transport and a server. */
abstract class TransportContract extends ObjectStoreContract {
    private final TestS3 server;
    private final S3Client client;
    private final S3Config config;
    private software.amazon.awssdk.services.s3.@Nullable S3Client direct;

    TransportContract(TestS3 server, S3Client client) {
        this.server = server;
        this.client = client;
        this.config = server.config().client(client).build();
    }

    @Override
    protected Set<Deviation> deviations() {
        return server.deviations();
    }

    /** Where conditions are refused, through a client of the server. */
    @Override
    protected String place(String key, byte[] body, Marks marks) {
        if (!deviations().contains(Deviation.CONDITIONAL_PUT_REFUSED)) {
            return super.place(key, body, marks);
        }
        Map<String, String> metadata = marks.equals(Marks.NONE) ? Map.of() : Map.of(Marks.PUT_ID, marks.putId(), Marks.SHA256, marks.sha256());
        return direct().putObject(request -> request.bucket(server.bucket()).key(key).metadata(metadata), RequestBody.fromBytes(body))
                .eTag().replace("\"", "");
    }

    private synchronized software.amazon.awssdk.services.s3.S3Client direct() {
        if (direct == null) {
            direct = server.client();
        }
        return direct;
    }

    @AfterEach
    final void closeDirect() {
        if (direct != null) {
            direct.close();
        }
    }

    @Override
    protected ObjectStore openStore() {
        return ObjectStores.open(config);
    }

    @Override
    protected ObjectStore openUnknownBucket() {
        return ObjectStores.open(server.config("granary-none-" + UUID.randomUUID()).client(client).build());
    }

    @Override
    protected ObjectStore openWithWrongCredentials() {
        return ObjectStores.open(server.config().client(client).credentials("nobody", "knows-this-secret").build());
    }

    @Override
    protected String prefix() {
        return config.location().prefix() + "/";
    }
}
