package dev.granary.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.contract.TestEntries;
import dev.granary.local.claim.ClaimResult;
import dev.granary.local.claim.LocalClaims;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Process that claims ids at the test's command: {@code claim NAME}, {@code launch NAME},
 * {@code close NAME}.
 */
public final class ClaimProcess implements AutoCloseable {
    private final Process process;
    private final Writer commands;
    private final BufferedReader answers;

    private ClaimProcess(Process process) {
        this.process = process;
        this.commands = process.outputWriter(UTF_8);
        this.answers = process.inputReader(UTF_8);
    }

    public static ClaimProcess start(Path directory) throws IOException {
        return new ClaimProcess(new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ClaimProcess.class.getName(),
                        directory.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
    }

    public String request(String command) throws IOException {
        commands.write(command + "\n");
        commands.flush();
        return Objects.requireNonNull(answers.readLine(), "the process ended");
    }

    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** Entry point of the other process. */
    public static void main(String[] arguments) throws IOException {
        Map<String, ClaimResult.Mine> mine = new HashMap<>();
        try (LocalClaims claims = LocalClaims.open(Path.of(arguments[0]));
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                System.out.println(
                        switch (words[0]) {
                            case "claim" -> claim(claims, words[1], mine);
                            case "launch" -> {
                                Objects.requireNonNull(mine.get(words[1])).awaitLaunch();
                                yield "done";
                            }
                            case "close" -> {
                                Objects.requireNonNull(mine.remove(words[1])).close();
                                yield "done";
                            }
                            default -> throw new IllegalArgumentException(line);
                        });
            }
        }
    }

    private static String claim(
            LocalClaims claims, String name, Map<String, ClaimResult.Mine> mine) {
        return switch (claims.claim(TestEntries.id(name))) {
            case ClaimResult.Mine held -> {
                mine.put(name, held);
                yield "mine";
            }
            case ClaimResult.Taken taken -> taken.stage().name();
            case ClaimResult.Unavailable unavailable -> unavailable.reason();
        };
    }
}
