package dev.granary.s3.contract;

import dev.granary.s3.embedded.ConditionMode;
import dev.granary.s3.embedded.EmbeddedS3;

import org.jspecify.annotations.Nullable;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;

/**
 * A faulty path to an S3 server: a loopback proxy that injects the faults of a {@link FaultPlan}
 * and logs requests. Thread-safe.
 *
 * <p>Requests pass unchanged, including Host and all headers, so their signatures stay valid.
 *
 * <p>Conditions cannot be changed on the path, since they are signed. {@link Fault.Conditioned}
 * therefore needs the embedded server, whose handling of the next write of the key is set in
 * advance.
 *
 * <p>Only {@link Fault.Delayed} waits by the clock: silence ends when the client disconnects at its
 * own deadline. {@link #close} closes all connections, and throws if an unsupported fault was
 * requested.
 */
public final class FaultyS3 implements AutoCloseable {
    /**
     * A request and its handling.
     *
     * @param fault its fault
     * @param serverStatus the status of the server; 0 if it never received the request, or has not
     *     responded
     */
    public record Exchange(S3Request request, Fault fault, int serverStatus) {}

    private final URI behind;
    private final BiConsumer<String, ConditionMode> conditions;
    private final ServerSocket listening;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final List<Exchange> log = new ArrayList<>(); // guarded by itself
    private final Map<String, HttpMessage> reads = new ConcurrentHashMap<>();
    private final AtomicReference<@Nullable RuntimeException> misuse = new AtomicReference<>();
    private volatile FaultPlan plan = FaultPlan.SOUND;
    private volatile boolean isClosed;
    private int underWay; // guarded by log

    private FaultyS3(URI behind, BiConsumer<String, ConditionMode> conditions) throws IOException {
        this.behind = behind;
        this.conditions = conditions;
        this.listening = new ServerSocket(0, 1000, InetAddress.getLoopbackAddress());
        threads.execute(this::accept);
    }

    /** Starts a proxy for any plain-HTTP server. */
    public static FaultyS3 inFrontOf(URI server) throws IOException {
        return new FaultyS3(server, (_, how) -> {
            throw new IllegalArgumentException(
                    "Only the embedded server supports conditions that are " + how);
        });
    }

    /** Starts a proxy for the embedded server. */
    public static FaultyS3 inFrontOf(EmbeddedS3 server) throws IOException {
        return new FaultyS3(server.endpoint(), server::conditionsOfNextWrite);
    }

    /** Sets the faults of all further requests. */
    public void plan(FaultPlan next) {
        plan = next;
    }

    /** Returns the address of this proxy, for clients. */
    public URI endpoint() {
        return URI.create("http://127.0.0.1:" + listening.getLocalPort());
    }

    /** Returns all requests so far, in order. */
    public List<Exchange> exchanges() {
        synchronized (log) {
            return List.copyOf(log);
        }
    }

    /** Returns the number of requests so far. */
    public int requests() {
        synchronized (log) {
            return log.size();
        }
    }

    @Override
    public void close() {
        isClosed = true;
        hangUp(listening);
        open.forEach(FaultyS3::hangUp);
        threads.shutdownNow();
        RuntimeException wrong = misuse.get();
        if (wrong != null) {
            throw wrong;
        }
    }

    /**
     * Waits until nothing is in progress, such as a late write after its sender has given up.
     *
     * @return false if that took longer than {@code limit}
     */
    public boolean awaitIdle(Duration limit) throws InterruptedException {
        long deadline = System.nanoTime() + limit.toNanos();
        synchronized (log) {
            while (underWay > 0) {
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                TimeUnit.NANOSECONDS.timedWait(log, left);
            }
            return true;
        }
    }

    /** Records a received request, and chooses its fault. */
    Exchange begin(HttpMessage message) {
        synchronized (log) {
            S3Request request = S3Request.of(log.size(), message);
            Exchange begun = new Exchange(request, plan.next(request), 0);
            log.add(begun);
            underWay++;
            return begun;
        }
    }

    /** Records the response of the server. */
    void responded(Exchange exchange, HttpMessage answer) {
        S3Request request = exchange.request();
        if (request.operation().equals("GET") && answer.status() == 200) {
            reads.put(request.key(), answer);
        }
        synchronized (log) {
            log.set(request.number(), new Exchange(request, exchange.fault(), answer.status()));
        }
    }

    /** Records the end of a request. */
    void end() {
        synchronized (log) {
            underWay--;
            log.notifyAll();
        }
    }

    /** Returns the response to a read of another key than that of {@code exchange}. */
    HttpMessage anotherRead(Exchange exchange) {
        return reads.entrySet().stream()
                .filter(read -> !read.getKey().equals(exchange.request().key()))
                .map(Map.Entry::getValue)
                .findAny()
                .orElseThrow(() -> new IllegalStateException(
                        "There is no other body yet: read another key before"));
    }

    /** Sets the server's handling of the next write of a key. */
    void conditions(String key, ConditionMode how) {
        conditions.accept(key, how);
    }

    /** Opens a new connection to the server. */
    Socket connect() throws IOException {
        Socket socket = new Socket();
        open.add(socket);
        socket.connect(new InetSocketAddress(
                behind.getHost(), behind.getPort() < 0 ? 80 : behind.getPort()));
        socket.setTcpNoDelay(true);
        return socket;
    }

    void disconnect(Socket socket) {
        open.remove(socket);
        hangUp(socket);
    }

    private void accept() {
        while (!isClosed) {
            try {
                Socket client = listening.accept();
                open.add(client);
                client.setTcpNoDelay(true);
                threads.execute(() -> serve(client));
            } catch (IOException | RuntimeException e) { // closed, or the client has disconnected
                if (!isClosed) {
                    misuse.compareAndSet(
                            null,
                            new IllegalStateException(
                                    "The faulty S3 accepts no more connections", e));
                }
            }
        }
    }

    private void serve(Socket client) {
        try {
            new FaultyConnection(this, client).serve();
        } catch (IOException hungUp) {
            // expected of a client
        } catch (RuntimeException e) {
            misuse.compareAndSet(null, e);
        } finally {
            disconnect(client);
        }
    }

    private static void hangUp(Closeable socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // already disconnected
        }
    }
}
