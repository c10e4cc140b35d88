package com.example.service;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import dev.granary.gpu.KernelProgram;
import dev.granary.gpu.LoadedKernels;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.Preparation;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.gpu.Geometry;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.opencl.OpenClBuffer;
import dev.granary.gpu.opencl.OpenClEngine;
import dev.granary.metrics.GranaryMetrics;
import dev.granary.metrics.GranaryTimers;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * A service on the loopback interface. {@code GET /power/K?x=X} computes the K-th power of X on the
 * device with a kernel of its own for each K; {@code GET /metrics} has Granary's metrics for
 * Prometheus. SIGTERM ends it, after the requests under way and pending stores.
 */
public final class Service implements AutoCloseable {
    private static final Pattern REQUEST = Pattern.compile("/power/([1-9]|[12][0-9]|3[0-2])\\?x="
            + "(-?[0-9]{1,9}(?:\\.[0-9]{1,9})?)");
    private static final Geometry LAUNCH = Geometry.of(1);

    private final PrometheusMeterRegistry registry =
            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final DeviceContext device;
    private final Granary granary;
    private final OpenClEngine engine;
    private final ExecutorService threads = Executors.newFixedThreadPool(4);
    private final HttpServer server;

    private Service(int port) throws Exception {
        // The same caches serve all requests: memory first, then the directory, then buckets.
        granary = Granary.builder()
                .config(GranaryConfig.fromEnvironment())
                .listener(new GranaryTimers(registry))
                .open();
        new GranaryMetrics(granary).bindTo(registry);
        // The context is the service's; the engine adds programs to it.
        device = new DeviceContext();
        engine = OpenClEngine.wrap(device.context(), device.device(), device.queue());
        // The usual kernels are ready before the first request: restored, or compiled in parallel.
        Preparation usual = granary.prepare(
                        engine,
                        IntStream.rangeClosed(2, 4).mapToObj(this::kernel).toList(),
                        state -> System.err.println(state.done() + " of " + state.total()))
                .join();
        usual.failures().values().forEach(Throwable::printStackTrace);
        server = HttpServer.create(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.setExecutor(threads);
        server.createContext("/power/", answering(this::power));
        server.createContext("/metrics", answering(_ -> registry.scrape()));
        server.start();
    }

    /** Starts the service; the argument is the port, by default one that is free. */
    public static void main(String[] arguments) throws Exception {
        CountDownLatch isClosed = new CountDownLatch(1);
        Service service = new Service(arguments.length == 0 ? 0 : Integer.parseInt(arguments[0]));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            service.close();
            isClosed.countDown();
        }));
        System.out.println("http://127.0.0.1:" + service.server.getAddress().getPort());
        isClosed.await();
    }

    private String power(String request) throws Exception {
        Matcher parts = REQUEST.matcher(request);
        if (!parts.matches()) {
            throw new IllegalArgumentException("GET /power/K?x=X, with K from 1 to 32");
        }
        KernelProgram power =
                granary.primitive(engine, kernel(Integer.parseInt(parts.group(1))));
        float[] result = new float[1];
        try (LoadedKernels kernels = engine.load(power);
                OpenClBuffer y = engine.buffer(Float.BYTES)) {
            kernels.launch("power", LAUNCH, Float.parseFloat(parts.group(2)), y);
            y.read(result);
        }
        return result[0] + "\n";
    }

    private KernelDescriptor kernel(int power) {
        return KernelDescriptor.builder(engine.target(), "power")
                .source("""
                        kernel void power(float x, global float *y) {
                            float product = 1.0f;
                            for (int i = 0; i < K; i++) {
                                product *= x;
                            }
                            y[0] = product;
                        }
                        """)
                .options("-DK=" + power)
                .launch("power", LAUNCH)
                .build();
    }

    private interface Answer {
        String to(String request) throws Exception;
    }

    private static HttpHandler answering(Answer answer) {
        return exchange -> {
            try {
                send(exchange, 200, answer.to(exchange.getRequestURI().toString()));
            } catch (IllegalArgumentException e) {
                send(exchange, 400, e.getMessage() + "\n");
            } catch (Exception e) {
                e.printStackTrace();
                send(exchange, 500, "failed\n");
            }
        };
    }

    private static void send(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        try (exchange) {
            // Prometheus refuses metrics of another type
            exchange.getResponseHeaders()
                    .set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
        }
    }

    /** Waits for the requests under way, and for pending stores and uploads (at most 5 s). */
    @Override
    public void close() {
        server.stop(1);
        threads.close();
        engine.close();
        device.close();
        granary.close();
    }
}
