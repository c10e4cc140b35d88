package dev.granary.s3.embedded;

import static java.net.HttpURLConnection.HTTP_PRECON_FAILED;

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

/**
 * Makes writes of S3Proxy's stores atomic with their conditions, and reads consistent, as in S3.
 *
 * <p>The underlying stores check If-Match before they write, and stream a file that a writer may
 * replace meanwhile.
 *
 * <p>Each group of keys has a read-write lock. Request bodies are received before the lock is
 * taken, and objects are read into memory under it, so that a slow client blocks no other. Tests
 * can disable this with {@link ConditionMode}.
 */
final class AtomicBlobStore extends ForwardingBlobStore {
    private static final int GROUPS = 512;
    private static final long RACE_NANOS = 2_000_000;

    private final ReadWriteLock[] locks = new ReadWriteLock[GROUPS];
    private final Map<String, ConditionMode> nextConditions = new ConcurrentHashMap<>();
    private volatile ConditionMode conditions = ConditionMode.KEPT;

    AtomicBlobStore(BlobStore delegate) {
        super(delegate);
        for (int i = 0; i < GROUPS; i++) {
            locks[i] = new ReentrantReadWriteLock();
        }
    }

    /** Sets the handling of the conditions of all further writes. */
    void conditions(ConditionMode now) {
        conditions = now;
    }

    /** Sets the handling of the condition of the next write of this object. */
    void conditionsOfNextWrite(String key, ConditionMode next) {
        nextConditions.put(key, next);
    }

    @Override
    public PutObjectResponse putBlob(PutObjectRequest request, InputStream body) {
        byte[] bytes = drain(body);
        ConditionMode ownMode = nextConditions.remove(request.key());
        return switch (ownMode == null ? conditions : ownMode) {
            case KEPT -> put(request, bytes);
            case IGNORED -> put(unconditional(request), bytes);
            case RACY -> {
                requireMatch(request);
                requireNone(request);
                LockSupport.parkNanos(RACE_NANOS); // lets concurrent writers check too
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
                return stream; // S3Proxy's result for an absent object
            }
            byte[] bytes = drain(stream);
            return new ResponseInputStream<>(
                    stream.response(),
                    AbortableInputStream.create(new ByteArrayInputStream(bytes)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns the expected ETag if the condition of a write is to be ignored: S3Proxy checks it
     * here before the write.
     */
    @Override
    public HeadObjectResponse blobMetadata(HeadObjectRequest request) {
        Lock lock = lock(request.bucket(), request.key()).readLock();
        lock.lock();
        try {
            HeadObjectResponse current = super.blobMetadata(request);
            boolean isIgnored =
                    nextConditions.getOrDefault(request.key(), conditions) == ConditionMode.IGNORED;
            return current != null && isIgnored && RequestCountingHandler.IF_MATCH.isBound()
                    ? current.toBuilder()
                            .eTag(RequestCountingHandler.IF_MATCH.get())
                            .build()
                    : current;
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
    public CompleteMultipartUploadResponse completeMultipartUpload(
            MultipartUpload upload, CompleteMultipartUploadRequest request) {
        Lock lock = lock(request.bucket(), request.key()).writeLock();
        lock.lock();
        try {
            return super.completeMultipartUpload(upload, request);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Checks If-Match: the underlying stores leave that to S3Proxy, which does it before this lock
     * is taken.
     */
    private void requireMatch(PutObjectRequest request) {
        if (request.ifMatch() == null) {
            return;
        }
        HeadObjectResponse current = blobMetadataIfPresent(request.bucket(), request.key());
        if (current == null || !unquoted(current.eTag()).equals(unquoted(request.ifMatch()))) {
            throw S3Exceptions.fromStatusCode(HTTP_PRECON_FAILED);
        }
    }

    /**
     * Checks If-None-Match for racy writes; otherwise the underlying stores do, under their own
     * lock.
     */
    private void requireNone(PutObjectRequest request) {
        if (request.ifNoneMatch() != null
                && blobMetadataIfPresent(request.bucket(), request.key()) != null) {
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
