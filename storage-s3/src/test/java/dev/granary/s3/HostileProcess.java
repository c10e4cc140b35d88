package dev.granary.s3;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.ObjectStore;

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;

/** Sends the given requests to a hostile server, and prints the results and their durations. */
final class HostileProcess {
    static final Duration TIMEOUT = Duration.ofSeconds(6);
    static final int LIMIT = 4 << 20;
    static final int RANGE = 32 << 20;
    static final int AT_ONCE = 16;

    private HostileProcess() {}

    /** Arguments: client, endpoint, then requests such as {@code get:key}. */
    public static void main(String[] args) throws Exception {
        S3Config config = S3Config.builder("bucket")
                .endpoint(URI.create(args[1]))
                .client(S3ClientLibrary.valueOf(args[0]))
                .credentials("key", "secret")
                .requestTimeout(TIMEOUT)
                .loadDeadline(TIMEOUT)
                .build();
        try (ObjectStore store = ObjectStoreFactory.open(config)) {
            for (String operation : List.of(args).subList(2, args.length)) {
                String key = operation.substring(operation.indexOf(':') + 1);
                print(
                        operation,
                        () -> send(store, operation.substring(0, operation.indexOf(':')), key));
            }
        }
        System.exit(0); // ends requests that a client library still has in progress
    }

    private static Object send(ObjectStore store, String how, String key) {
        return switch (how) {
            case "get" -> store.get(key, LIMIT);
            case "range" -> store.range(key, 0, LIMIT);
            case "ranges" -> ranges(store, key);
            case "head" -> store.head(key);
            case "put" -> store.putIfAbsent(key, new byte[1]);
            case "delete" -> store.delete(key);
            case "list" -> store.list(key, object -> {});
            default -> throw new IllegalArgumentException(how);
        };
    }

    /** Concurrent large ranges from a server that declares a length and sends almost nothing. */
    private static Object ranges(ObjectStore store, String key) {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < AT_ONCE; i++) {
                all.add(threads.submit(() -> store.range(key, 0, RANGE)));
            }
            Object last = "";
            for (Future<?> one : all) {
                last = one.get();
            }
            return last;
        } catch (Exception e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    private static void print(String operation, Supplier<Object> request) {
        long start = System.nanoTime();
        String result;
        try {
            Object answer = request.get();
            result = answer.getClass().getSimpleName() + " " + answer;
        } catch (Throwable t) { // an exception that no caller may see
            result = "thrown " + t;
        }
        System.out.println(
                operation + "=" + Duration.ofNanos(System.nanoTime() - start).toMillis() + " "
                        + result.replace('\n', ' '));
    }
}
