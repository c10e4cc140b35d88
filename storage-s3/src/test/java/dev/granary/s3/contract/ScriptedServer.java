package dev.granary.s3.contract;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.Assumptions;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The real servers started by the scripts of {@code it/servers}. Each starts at its first use and
 * ends with this process, even after a crash; its script then removes its data.
 */
public final class ScriptedServer {
    /** Result of starting a server. */
    private sealed interface Start {
        /** It is running. */
        record Up(TestS3 server) implements Start {}

        /** Its packages are not installed. */
        record Missing(String reason) implements Start {}
    }

    /** The exit code of a script if a package is missing. */
    private static final int MISSING = 3;

    /**
     * Prints the server's environment, then waits for the end of its input, which is the end of
     * this process.
     */
    private static final String COMMAND =
            "env | grep -E '^(GRANARY_TEST_S3|AWS)_'; echo ready; exec cat >/dev/null";

    private static final Map<KnownServer, Start> STARTED = new EnumMap<>(KnownServer.class);

    private ScriptedServer() {}

    /**
     * Returns the server of that kind; if its packages are not installed, skips the test and prints
     * the reason.
     */
    public static TestS3 of(KnownServer kind) {
        Start start;
        synchronized (STARTED) {
            start = STARTED.computeIfAbsent(kind, ScriptedServer::start);
        }
        return switch (start) {
            case Start.Up up -> up.server();
            case Start.Missing missing -> Assumptions.abort(missing.reason());
        };
    }

    private static Start start(KnownServer kind) {
        try {
            return run(kind);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("Interrupted while " + kind.id() + " started", e);
        }
    }

    private static Start run(KnownServer kind) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(script(kind).toString(), "--", "sh", "-c", COMMAND)
                .redirectErrorStream(true)
                .start();
        Map<String, String> environment = new HashMap<>();
        StringBuilder said = new StringBuilder();
        // ends with the process
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
        for (String line = lines.readLine();
                !Objects.equals(line, "ready");
                line = lines.readLine()) {
            if (line == null) {
                return ended(kind, process.waitFor(), said.toString().strip());
            }
            int equals = line.indexOf('=');
            if (line.startsWith("granary: ") || equals < 0) {
                said.append(line).append('\n');
            } else {
                environment.put(line.substring(0, equals), line.substring(equals + 1));
            }
        }
        System.out.print(said);
        return new Start.Up(TestS3.named(environment).orElseThrow());
    }

    private static Start ended(KnownServer kind, int code, String said) {
        if (code != MISSING) {
            throw new IllegalStateException(kind.id() + " did not start:\n" + said);
        }
        System.out.println("granary.test.skipped=" + kind.id() + ": " + said);
        return new Start.Missing(said);
    }

    private static Path script(KnownServer kind) {
        Path below = Path.of("it", "servers", kind.id());
        Path fromModule = Path.of("..").resolve(below);
        return Files.exists(fromModule) ? fromModule : below;
    }
}
