package dev.granary.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.contract.TestEntries;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.InteractiveProcess;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** Process that claims ids at the test's command: {@code claim NAME}, {@code close NAME}. */
public final class ClaimProcess {
    private ClaimProcess() {}

    public static InteractiveProcess start(Path directory) throws IOException {
        return new InteractiveProcess(
                ChildJvm.of(ClaimProcess.class).shortLived().start(directory.toString()));
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
            case ClaimResult.Taken _ -> "taken";
            case ClaimResult.Unavailable unavailable -> unavailable.reason();
        };
    }
}
