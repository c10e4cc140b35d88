package dev.granary.coordinator;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * A server on the loopback interface that never answers. The kernel accepts connections, and
 * nothing reads them. Thread-safe.
 */
public final class SilentServer implements AutoCloseable {
    private static final int MANY_CONNECTIONS = 1000;

    private final ServerSocketChannel listener;

    /** Starts the server. */
    public SilentServer() throws IOException {
        listener = ServerSocketChannel.open()
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), MANY_CONNECTIONS);
        listener.configureBlocking(false);
    }

    /** Returns the URL of the server. */
    public String endpoint() throws IOException {
        return "http://127.0.0.1:" + ((InetSocketAddress) listener.getLocalAddress()).getPort();
    }

    /** Returns the next connection; null if there is none. */
    @Nullable
    SocketChannel accept() throws IOException {
        return listener.accept();
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
