package dev.granary.s3.contract;

import dev.granary.s3.embedded.ConditionMode;
import dev.granary.s3.embedded.EmbeddedS3;
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
import org.jspecify.annotations.Nullable;

/**
 * A bad way to an S3 server: a proxy on the loopback interface in front of any server, which does to each request what a {@link FaultPlan}
 * says, and keeps a log. Requests pass unchanged, Host and all headers included, so their signatures stay valid. Thread-safe.
 *
 * <p>Whether a server keeps conditions cannot be changed on the way: they are signed. {@link Fault.Conditioned} therefore needs the embedded
 * server, which is told beforehand what to do with the next write of that key.
 *
 * <p>Nothing here waits by the clock but {@link Fault.Delayed}: silence ends when the client hangs up, so its own deadline says how long it
 * lasts. {@link #close} hangs up on everybody, and throws where something was asked of this proxy that it cannot do.
 */
public final class FaultyS3 implements AutoCloseable {
    /**
     * What came, and what was done with it.
     *
     * @param fault what happened to it
     * @param serverStatus what the server behind answered; 0 where it never saw the request, or has not answered
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

    /** Starts in front of any server that speaks plain HTTP. */
    public static FaultyS3 inFrontOf(URI server) throws IOException {
        return new FaultyS3(server, (_, how) -> {
            throw new IllegalArgumentException("Only the embedded server can be told that conditions are " + how);
        });
    }

    /** Starts in front of the embedded server. */
    public static FaultyS3 inFrontOf(EmbeddedS3 server) throws IOException {
        return new FaultyS3(server.endpoint(), server::conditionsOfNextWrite);
    }

    /** What happens to requests from now on. */
    public void plan(FaultPlan next) {
        plan = next;
    }

    /** Where this listens; clients take it for the server. */
    public URI endpoint() {
        return URI.create("http://127.0.0.1:" + listening.getLocalPort());
    }

    /** All that came so far, in order. */
    public List<Exchange> exchanges() {
        synchronized (log) {
            return List.copyOf(log);
        }
    }

    /** How many requests came so far. */
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
     * Waits until nothing is under way any more, such as a write that arrives after its sender has given up.
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

    /** Notes a request that has arrived, and asks the plan what happens to it. */
    Exchange begin(HttpMessage message) {
        synchronized (log) {
            S3Request request = S3Request.of(log.size(), message);
            Exchange begun = new Exchange(request, plan.next(request), 0);
            log.add(begun);
            underWay++;
            return begun;
        }
    }

    /** Notes what the server said. */
    void answered(Exchange exchange, HttpMessage answer) {
        S3Request request = exchange.request();
        if (request.operation().equals("GET") && answer.status() == 200) {
            reads.put(request.key(), answer);
        }
        synchronized (log) {
            log.set(request.number(), new Exchange(request, exchange.fault(), answer.status()));
        }
    }

    /** Notes that all is done with a request. */
    void end() {
        synchronized (log) {
            underWay--;
            log.notifyAll();
        }
    }

    /** The answer to a read of another key than the one of {@code exchange}. */
    HttpMessage anotherRead(Exchange exchange) {
        return reads.entrySet().stream().filter(read -> !read.getKey().equals(exchange.request().key())).map(Map.Entry::getValue).findAny()
                .orElseThrow(() -> new IllegalStateException("There is no other body yet: read another key before"));
    }

    /** Tells the server what to do with the next write of a key. */
    void conditions(String key, ConditionMode how) {
        conditions.accept(key, how);
    }

    /** A new connection to the server behind. */
    Socket connect() throws IOException {
        Socket socket = new Socket();
        open.add(socket);
        socket.connect(new InetSocketAddress(behind.getHost(), behind.getPort() < 0 ? 80 : behind.getPort()));
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
            } catch (IOException | RuntimeException e) { // closed, or the client is gone already
                if (!isClosed) {
                    misuse.compareAndSet(null, new IllegalStateException("The faulty S3 accepts no more connections", e));
                }
            }
        }
    }

    private void serve(Socket client) {
        try {
            new FaultyConnection(this, client).serve();
        } catch (IOException hungUp) {
            // its right
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
            // it is gone already
        }
    }
}
