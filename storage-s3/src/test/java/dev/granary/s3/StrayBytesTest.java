package dev.granary.s3;

import static dev.granary.testing.BucketAssertions.assertThat;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.granary.s3.config.S3ClientLibrary;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.store.ObjectStore;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Tests of both transports against a server that sends more than a response may have, like
 * OpenStack Swift.
 */
class StrayBytesTest {
    private static final String HEAD =
            "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n";
    private static final String LAST_CHUNK = "0\r\n\r\n";
    private static final String MISSING =
            "<Error><Code>NoSuchKey</Code><Message>none</Message></Error>";
    private static final String BODY =
            "HTTP/1.1 404 Not Found\r\nContent-Type: application/xml\r\nContent-Length: "
                    + MISSING.length() + "\r\n\r\n";

    private final ServerSocket server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    StrayBytesTest() throws IOException {
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        threads.execute(this::accept);
    }

    @AfterEach
    void close() throws IOException {
        server.close();
        threads.shutdownNow();
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket connection = server.accept();
                threads.execute(() -> answer(connection));
            } catch (IOException closed) {
                return;
            }
        }
    }

    private static void answer(Socket connection) {
        try (connection) {
            BufferedReader lines = new BufferedReader(
                    new InputStreamReader(connection.getInputStream(), ISO_8859_1));
            for (String request = lines.readLine(); request != null; request = lines.readLine()) {
                String field;
                do {
                    field = lines.readLine();
                } while (field != null && !field.isEmpty());
                String answer = request.startsWith("HEAD ") ? HEAD + LAST_CHUNK : BODY + MISSING;
                connection.getOutputStream().write(answer.getBytes(ISO_8859_1));
            }
        } catch (IOException gone) {
            // the client has closed the connection
        }
    }

    @ParameterizedTest
    @EnumSource(S3ClientLibrary.class)
    @DisplayName("a last chunk after the response to a HEAD is not taken for the next response")
    void head(S3ClientLibrary client) {
        S3Config config = S3Config.builder("bucket")
                .endpoint(URI.create("http://127.0.0.1:" + server.getLocalPort()))
                .client(client)
                .credentials("key", "secret")
                .build();
        try (ObjectStore store = ObjectStoreFactory.open(config)) {
            for (int i = 0; i < 20; i++) {
                assertThat(store.head("key")).isAbsent();
                assertThat(store.get("key", 1)).isAbsent();
            }
        }
    }
}
