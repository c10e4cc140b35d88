package dev.granary.s3.embedded;

import static java.net.HttpURLConnection.HTTP_PRECON_FAILED;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.gaul.s3proxy.blobstore.BlobStore;
import org.gaul.s3proxy.blobstore.ForwardingBlobStore;
import org.gaul.s3proxy.blobstore.S3Exceptions;
import org.gaul.s3proxy.blobstore.domain.MultipartUpload;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.services.s3.model.CompleteMultipartUploadRequest;
import software.amazon.awssdk.services.s3.model.CompleteMultipartUploadResponse;
import software.amazon.awssdk.services.s3.model.CopyObjectRequest;
import software.amazon.awssdk.services.s3.model.CopyObjectResponse;
import software.amazon.awssdk.services.s3.model.DeleteObjectRequest;
import software.amazon.awssdk.services.s3.model.DeleteObjectResponse;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.HeadObjectRequest;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.PutObjectResponse;

/**
 * Makes S3Proxy's stores keep what S3 promises: a condition and its write are one step, and a read sees one version as a whole. The stores
 * behind check If-Match first and write then, and stream a file that a writer may replace meanwhile.
 *
 * <p>A read-write lock for each group of keys; bodies are read from the network before the lock is taken, and into memory while it is
 * held, so that no slow client blocks another. For tests it breaks that promise on demand, see {@link ConditionMode}.
 */
final class AtomicBlobStore extends ForwardingBlobStore {
    private static final int GROUPS = 512;
    private static final long RACE_NANOS = 2_000_000;

    private final ReadWriteLock[] locks = new ReadWriteLock[GROUPS];
    private final Map<String, ConditionMode> ofNextWrite = new ConcurrentHashMap<>();
    private volatile ConditionMode conditions = ConditionMode.KEPT;

    AtomicBlobStore(BlobStore behind) {
        super(behind);
        for (int i = 0; i < GROUPS; i++) {
            locks[i] = new ReentrantReadWriteLock();
        }
    }

    /** What becomes of the conditions of all writes from now on. */
    void conditions(ConditionMode now) {
        conditions = now;
    }

    /** What becomes of the condition of the next write of that object, and of no other. */
    void conditionsOfNextWrite(String key, ConditionMode next) {
        ofNextWrite.put(key, next);
    }

    @Override
    public PutObjectResponse putBlob(PutObjectRequest request, InputStream body) {
        byte[] bytes = drain(body);
        ConditionMode mine = ofNextWrite.remove(request.key());
        return switch (mine == null ? conditions : mine) {
            case KEPT -> put(request, bytes);
            case IGNORED -> put(unconditional(request), bytes);
            case RACY -> {
                requireMatch(request);
                requireNone(request);
                LockSupport.parkNanos(RACE_NANOS); // others look, too
                yield put(unconditional(request), bytes);
            }
        };
    }

    private PutObjectResponse put(PutObjectRequest request, byte[] bytes) {
        Lock lock = lock(request.bucket(), request.key()).writeLock();
        lock.lock();
        try {
            requireMatch(request);
            return super.putBlob(request, new ByteArrayInputStream(bytes));
        } finally {
            lock.unlock();
        }
    }

    @Override
    public ResponseInputStream<GetObjectResponse> getBlob(GetObjectRequest request) {
        Lock lock = lock(request.bucket(), request.key()).readLock();
        lock.lock();
        try (ResponseInputStream<GetObjectResponse> stream = super.getBlob(request)) {
            if (stream == null) {
                return stream; // S3Proxy's way to say that there is none
            }
            byte[] bytes = drain(stream);
            return new ResponseInputStream<>(stream.response(), AbortableInputStream.create(new ByteArrayInputStream(bytes)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            lock.unlock();
        }
    }

    /** Where the condition of a write is to be ignored, S3Proxy, which asks this before it hands the write over, is told what it wants to hear. */
    @Override
    public HeadObjectResponse blobMetadata(HeadObjectRequest request) {
        Lock lock = lock(request.bucket(), request.key()).readLock();
        lock.lock();
        try {
            HeadObjectResponse there = super.blobMetadata(request);
            boolean isIgnored = ofNextWrite.getOrDefault(request.key(), conditions) == ConditionMode.IGNORED;
            return there != null && isIgnored && RequestCountingHandler.IF_MATCH.isBound() ? there.toBuilder().eTag(RequestCountingHandler.IF_MATCH.get()).build() : there;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public DeleteObjectResponse removeBlob(DeleteObjectRequest request) {
        Lock lock = lock(request.bucket(), request.key()).writeLock();
        lock.lock();
        try {
            return super.removeBlob(request);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public CopyObjectResponse copyBlob(CopyObjectRequest request) {
        Lock lock = lock(request.destinationBucket(), request.destinationKey()).writeLock();
        lock.lock();
        try {
            return super.copyBlob(request);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public CompleteMultipartUploadResponse completeMultipartUpload(MultipartUpload upload, CompleteMultipartUploadRequest request) {
        Lock lock = lock(request.bucket(), request.key()).writeLock();
        lock.lock();
        try {
            return super.completeMultipartUpload(upload, request);
        } finally {
            lock.unlock();
        }
    }

    /** The stores behind leave If-Match to S3Proxy, which looks before anybody holds a lock. */
    private void requireMatch(PutObjectRequest request) {
        if (request.ifMatch() == null) {
            return;
        }
        HeadObjectResponse there = blobMetadataIfPresent(request.bucket(), request.key());
        if (there == null || !unquoted(there.eTag()).equals(unquoted(request.ifMatch()))) {
            throw S3Exceptions.fromStatusCode(HTTP_PRECON_FAILED);
        }
    }

    /** The stores behind do this themselves, under their own lock. */
    private void requireNone(PutObjectRequest request) {
        if (request.ifNoneMatch() != null && blobMetadataIfPresent(request.bucket(), request.key()) != null) {
            throw S3Exceptions.fromStatusCode(HTTP_PRECON_FAILED);
        }
    }

    private static PutObjectRequest unconditional(PutObjectRequest request) {
        return request.toBuilder().ifMatch(null).ifNoneMatch(null).build();
    }

    private static String unquoted(@Nullable String etag) {
        return etag == null ? "" : etag.replace("\"", "");
    }

    private ReadWriteLock lock(String bucket, String key) {
        return locks[Math.floorMod(Objects.hash(bucket, key), GROUPS)];
    }

    private static byte[] drain(InputStream body) {
        try {
            return body.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
