package dev.granary.benchmarks.start;

import com.sun.net.httpserver.HttpServer;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;

/** A server that answers each request with 503. */
record UnavailableServer(HttpServer server) implements AutoCloseable {
    private static final int UNAVAILABLE = 503;

    static UnavailableServer start() throws IOException {
        HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(UNAVAILABLE, -1);
            exchange.close();
        });
        server.start();
        return new UnavailableServer(server);
    }

    URI endpoint() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
