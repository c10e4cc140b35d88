package dev.granary.s3.contract;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.s3.contract.Fault.Moment;
import dev.granary.s3.store.StoreFailure;

import org.jspecify.annotations.Nullable;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;

/**
 * One client's connection to a {@link FaultyS3}: processes its requests in order and injects their
 * faults.
 */
final class FaultyConnection {
    private static final long FRESH_NANOS = Duration.ofSeconds(5).toNanos();
    private static final byte[] SURPLUS = "SURPLUS".getBytes(UTF_8);

    private final FaultyS3 proxy;
    private final Socket client;
    private final InputStream in;
    private final OutputStream out;
    private @Nullable Socket server;
    private long serverUsedAt;
    private boolean isClosed;

    FaultyConnection(FaultyS3 proxy, Socket client) throws IOException {
        this.proxy = proxy;
        this.client = client;
        this.in = new BufferedInputStream(client.getInputStream());
        this.out = client.getOutputStream();
    }

    /** Serves until the client or a fault closes the connection. */
    void serve() throws IOException {
        try {
            while (!isClosed) {
                HttpMessage head = HttpMessage.readHead(in);
                if (head.header("Expect").isPresent()) {
                    out.write("HTTP/1.1 100 Continue\r\n\r\n".getBytes(UTF_8));
                }
                // never signed, since it is a hop-by-hop header
                HttpMessage request = head.withBody(in).without("Expect");
                FaultyS3.Exchange exchange = proxy.begin(request);
                try {
                    carryOut(request, exchange);
                } finally {
                    proxy.end();
                }
            }
        } finally {
            if (server != null) {
                proxy.disconnect(server);
            }
        }
    }

    private void carryOut(HttpMessage request, FaultyS3.Exchange exchange) throws IOException {
        switch (exchange.fault()) {
            case Fault.None _ -> send(forward(request, exchange));
            case Fault.Meanwhile meanwhile -> {
                meanwhile.event().run();
                send(forward(request, exchange));
            }
            case Fault.Lost lost -> fail(lost.failure(), request);
            case Fault.AnswerLost lost -> {
                forward(request, exchange);
                fail(lost.failure(), request);
            }
            case Fault.AnswerLostThen lost -> {
                forward(request, exchange);
                lost.event().run();
                fail(lost.failure(), request);
            }
            case Fault.Late _ -> {
                awaitDisconnect();
                forward(request, exchange);
            }
            case Fault.Delayed delayed -> delay(delayed, request, exchange);
            case Fault.Conflicting injected ->
                sendReplacement(
                        injected.moment(),
                        error(409, "ConditionalRequestConflict", request),
                        request,
                        exchange);
            case Fault.PreconditionFailed injected ->
                sendReplacement(
                        injected.moment(),
                        error(412, "PreconditionFailed", request),
                        request,
                        exchange);
            case Fault.Blank injected ->
                sendReplacement(
                        injected.moment(), HttpMessage.answer(200, new byte[0]), request, exchange);
            case Fault.Page injected ->
                sendReplacement(injected.moment(), page(request), request, exchange);
            case Fault.Changed changed -> sendChanged(changed.change(), request, exchange);
            case Fault.Conditioned how -> {
                if (exchange.request().operation().startsWith("PUT")) {
                    proxy.conditions(exchange.request().key(), how.conditions());
                }
                send(forward(request, exchange));
            }
        }
    }

    private void delay(Fault.Delayed delayed, HttpMessage request, FaultyS3.Exchange exchange)
            throws IOException {
        if (delayed.moment() == Moment.BEFORE) {
            sleep(delayed.time());
        }
        HttpMessage answer = forward(request, exchange);
        if (delayed.moment() == Moment.AFTER) {
            sleep(delayed.time());
        }
        send(answer);
    }

    private void sendReplacement(
            Moment moment, HttpMessage answer, HttpMessage request, FaultyS3.Exchange exchange)
            throws IOException {
        if (moment == Moment.AFTER) {
            forward(request, exchange);
        }
        send(answer);
    }

    private void sendChanged(Fault.Change change, HttpMessage request, FaultyS3.Exchange exchange)
            throws IOException {
        HttpMessage answer = forward(request, exchange);
        switch (change) {
            case TRUNCATED -> {
                byte[] whole = answer.bytes();
                int kept = answer.body().length == 0
                        ? whole.length / 2
                        : whole.length - answer.body().length / 2 - 1;
                out.write(whole, 0, kept);
                isClosed = true;
            }
            case SURPLUS -> {
                int length = answer.body().length;
                out.write((length == 0
                                ? answer
                                : answer.with(
                                        "Content-Length",
                                        Integer.toString(Math.max(0, length - SURPLUS.length))))
                        .bytes());
                if (length == 0) {
                    out.write(SURPLUS);
                }
            }
            case LONGER ->
                send(
                        exchange.request().operation().startsWith("GET")
                                ? answer.longer(SURPLUS)
                                : answer);
            case WRONG_ETAG -> send(answer.with("ETag", "\"" + "0".repeat(32) + "\""));
            case OTHER_BODY ->
                send(
                        !exchange.request().isRead()
                                ? answer
                                : isHead(request)
                                        ? proxy.anotherRead(exchange).bodiless()
                                        : proxy.anotherRead(exchange));
        }
    }

    /** Reports a failure to the sender: a response, silence, or a reset. */
    private void fail(StoreFailure failure, HttpMessage request) throws IOException {
        if (failure.status() != 0) {
            send(error(failure.status(), failure.code(), request));
        } else if (failure.kind() == StoreFailure.Kind.TIMEOUT) {
            awaitDisconnect();
        } else if (failure.kind() == StoreFailure.Kind.BROKEN) {
            isClosed = true;
            client.setSoLinger(true, 0); // a reset, not an end of stream
        } else {
            throw new IllegalArgumentException(
                    "Neither a server nor a network reports to a client " + failure);
        }
    }

    /** Sends nothing until the client's deadline ends the connection. */
    private void awaitDisconnect() {
        isClosed = true;
        try {
            while (in.read() >= 0) {
                // a client that sends more still waits for its response
            }
        } catch (IOException reset) {
            // disconnected in another way
        }
    }

    private HttpMessage forward(HttpMessage request, FaultyS3.Exchange exchange)
            throws IOException {
        Socket connection = connection();
        connection.getOutputStream().write(request.bytes());
        InputStream answers = connection.getInputStream();
        HttpMessage head = HttpMessage.readHead(answers);
        while (head.status() < 200) {
            head = HttpMessage.readHead(answers);
        }
        HttpMessage answer = isHead(request) || head.status() == 204 || head.status() == 304
                ? head
                : head.withBody(answers);
        serverUsedAt = System.nanoTime();
        proxy.responded(exchange, answer);
        return answer;
    }

    /** Returns the connection to the server; a new one if the server may have closed the last. */
    private Socket connection() throws IOException {
        Socket known = server;
        if (known != null && System.nanoTime() - serverUsedAt < FRESH_NANOS) {
            return known;
        }
        if (known != null) {
            proxy.disconnect(known);
        }
        Socket fresh = proxy.connect();
        server = fresh;
        return fresh;
    }

    private void send(HttpMessage answer) throws IOException {
        out.write(answer.bytes());
        isClosed |=
                answer.header("Connection").filter("close"::equalsIgnoreCase).isPresent();
    }

    private static HttpMessage error(int status, String code, HttpMessage request) {
        byte[] text = ("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>" + code
                        + "</Code><Message>scripted</Message><Resource>/b/k</Resource>"
                        + "<RequestId>1</RequestId></Error>")
                .getBytes(UTF_8);
        HttpMessage answer = HttpMessage.answer(
                status,
                isHead(request) ? Arrays.copyOf(text, 0) : text,
                "Content-Type: application/xml");
        // some clients obey it by default
        return status == 503 ? answer.with("Retry-After", "0") : answer;
    }

    private static HttpMessage page(HttpMessage request) {
        byte[] text = "<html><body>Sign in</body></html>".getBytes(UTF_8);
        return HttpMessage.answer(
                200, isHead(request) ? Arrays.copyOf(text, 0) : text, "Content-Type: text/html");
    }

    private static boolean isHead(HttpMessage request) {
        return request.firstLine().startsWith("HEAD ");
    }

    private static void sleep(Duration time) throws IOException {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            throw new IOException("closed", e);
        }
    }
}
