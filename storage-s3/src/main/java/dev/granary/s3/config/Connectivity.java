package dev.granary.s3.config;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;

/** A plain connection to a server, which tells at once that it cannot be reached. */
public final class Connectivity {
    private static final int HTTPS = 443;
    private static final int HTTP = 80;

    private Connectivity() {}

    /**
     * Connects to a server, or to the proxy for it, and closes the connection.
     *
     * @param timeout the longest time
     * @return the reason why the server cannot be reached; empty if it can
     */
    public static Optional<String> obstacle(URI server, Duration timeout) {
        InetSocketAddress address;
        try {
            address = NetworkSettings.of(server, System.getenv())
                    .proxy()
                    .map(NetworkSettings.HttpProxy::address)
                    .map(proxy -> new InetSocketAddress(proxy.getHostString(), proxy.getPort()))
                    .orElseGet(() -> new InetSocketAddress(server.getHost(), port(server)));
        } catch (IllegalStateException e) { // a variable that cannot be used
            return Optional.of(String.valueOf(e.getMessage()));
        }
        if (address.isUnresolved()) {
            return Optional.of("the host " + address.getHostString() + " is unknown");
        }
        String name = address.getHostString() + ":" + address.getPort();
        try (Socket socket = new Socket()) {
            socket.connect(address, Math.toIntExact(timeout.toMillis()));
            return Optional.empty();
        } catch (ConnectException e) {
            return Optional.of(name + " refuses the connection");
        } catch (SocketTimeoutException e) {
            return Optional.of(name + " did not answer within " + timeout.toMillis() + " ms");
        } catch (IOException e) {
            return Optional.of(name + " cannot be reached: " + e.getMessage());
        }
    }

    private static int port(URI server) {
        return server.getPort() >= 0
                ? server.getPort()
                : "https".equalsIgnoreCase(server.getScheme()) ? HTTPS : HTTP;
    }
}
