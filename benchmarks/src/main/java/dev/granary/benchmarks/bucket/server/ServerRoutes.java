package dev.granary.benchmarks.bucket.server;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The server of a run and all routes to it. Closing it ends the server and deletes its content. */
public final class ServerRoutes implements AutoCloseable {
    private final String server;
    private final List<ServerRoute> all;
    private final List<ServerScript> scripts;

    private ServerRoutes(String server, List<ServerRoute> all, List<ServerScript> scripts) {
        this.server = server;
        this.all = List.copyOf(all);
        this.scripts = scripts;
    }

    /**
     * Starts the first of {@code servers} whose packages are installed, and a proxy for each delay.
     *
     * @param scripts the directory of the project's scripts
     */
    public static ServerRoutes open(
            BucketWorkspace workplace, Path scripts, List<String> servers, List<Integer> delays)
            throws IOException, InterruptedException {
        List<ServerScript> started = new ArrayList<>();
        try {
            for (String server : servers) {
                workplace.say("starting the S3 server: " + server);
                Map<String, String> needs = Map.of(
                        "JAVA_HOME",
                        System.getProperty("java.home"),
                        "GRANARY_SERVER_CLASSPATH",
                        System.getProperty("java.class.path"));
                switch (ServerScript.start(
                        workplace, scripts, server, List.of(), workplace.environment(needs))) {
                    case ServerScript.Started.Up up -> {
                        started.add(up.script());
                        return new ServerRoutes(
                                server,
                                routes(workplace, scripts, up.script().told(), delays, started),
                                started);
                    }
                    case ServerScript.Started.Failed(int code, String message)
                    when code == ServerScript.NOT_INSTALLED -> workplace.tell(message);
                    case ServerScript.Started.Failed failed ->
                        throw new IOException(
                                "the server " + server + " did not start: " + failed.message());
                }
            }
            throw new IOException("no S3 server is installed of " + String.join(", ", servers));
        } catch (IOException | InterruptedException | RuntimeException e) {
            close(started);
            throw e;
        }
    }

    private static List<ServerRoute> routes(
            BucketWorkspace workplace,
            Path scripts,
            Map<String, String> told,
            List<Integer> delays,
            List<ServerScript> started)
            throws IOException, InterruptedException {
        List<ServerRoute> routes =
                new ArrayList<>(List.of(new ServerRoute(0, told, Optional.empty())));
        for (int delay : delays) {
            Path directory = workplace.path("delay-" + delay);
            Map<String, String> environment = new HashMap<>(workplace.environment(told));
            List<String> arguments = List.of(
                    "--of",
                    told.getOrDefault("GRANARY_S3_ENDPOINT", ""),
                    "--millis",
                    Integer.toString(delay),
                    directory.toString());
            switch (ServerScript.start(workplace, scripts, "delay", arguments, environment)) {
                case ServerScript.Started.Up up -> {
                    started.add(up.script());
                    routes.add(new ServerRoute(
                            delay,
                            up.script().told(),
                            Optional.of(directory.resolve("statistics"))));
                }
                case ServerScript.Started.Failed(int code, String message)
                when code == ServerScript.NOT_INSTALLED -> {
                    workplace.tell(message + " Nothing is measured with a delay.");
                    return routes;
                }
                case ServerScript.Started.Failed failed ->
                    throw new IOException("the proxy did not start: " + failed.message());
            }
        }
        return routes;
    }

    /** Returns the name of the server. */
    public String server() {
        return server;
    }

    /** Returns all routes, the direct one first. */
    public List<ServerRoute> all() {
        return all;
    }

    public ServerRoute direct() {
        return all.getFirst();
    }

    @Override
    public void close() throws IOException {
        close(scripts);
    }

    private static void close(List<ServerScript> scripts) throws IOException {
        for (ServerScript script : scripts.reversed()) {
            script.close();
        }
    }
}
