package dev.granary.s3.pack;

import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;

import java.util.function.Consumer;

/** Amazon S3 without s3:ListBucket: returns 403 for absent objects. */
public final class WithoutListing extends ForwardingStore {
    private static final StoreFailure NO =
            new StoreFailure(StoreFailure.Kind.DENIED, 403, "AccessDenied", "Access Denied");

    public WithoutListing(ObjectStore to) {
        super(to);
    }

    @Override
    public HeadResult head(String key) {
        return super.head(key) instanceof HeadResult.Found found
                ? found
                : new HeadResult.Unavailable(new StoreFailure(
                        StoreFailure.Kind.DENIED, 403, "", "Forbidden")); // a HEAD has no body
    }

    @Override
    public GetResult get(String key, long limit) {
        return super.get(key, limit) instanceof GetResult.Found found
                ? found
                : new GetResult.Unavailable(NO);
    }

    @Override
    public GetResult range(String key, long offset, int length, byte[] into) {
        return super.range(key, offset, length, into) instanceof GetResult.Found found
                ? found
                : new GetResult.Unavailable(NO);
    }

    @Override
    public ListResult list(String prefix, Consumer<Listed> visitor) {
        return new ListResult.Unavailable(NO);
    }
}
