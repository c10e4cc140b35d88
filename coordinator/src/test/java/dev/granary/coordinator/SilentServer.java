package dev.granary.coordinator;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/** A server on the loopback interface that never says anything. Connections are made by the kernel, and nobody reads them. Thread-safe. */
public final class SilentServer implements AutoCloseable {
    private static final int MANY_CONNECTIONS = 1000;

    private final ServerSocketChannel door;

    /** Starts it. */
    public SilentServer() throws IOException {
        door = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), MANY_CONNECTIONS);
        door.configureBlocking(false);
    }

    /** Its URL. */
    public String endpoint() throws IOException {
        return "http://127.0.0.1:" + ((InetSocketAddress) door.getLocalAddress()).getPort();
    }

    /** The next connection that arrived; null if there is none. */
    @Nullable SocketChannel accept() throws IOException {
        return door.accept();
    }

    @Override
    public void close() throws IOException {
        door.close();
    }
}
