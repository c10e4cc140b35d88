package dev.granary.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.contract.TestEntries;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.InteractiveProcess;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * Process with a tier on a directory, controlled over its standard input; it answers each command
 * with one line. It can be made to stall after the next step of a kind: it then writes {@code AT}
 * and the step, and waits for {@link #RESUME}.
 */
final class TierProcess {
    /** The command on which a stalled process continues; it then answers the earlier command. */
    static final String RESUME = "";

    private TierProcess() {}

    static InteractiveProcess start(Path directory, long capacity) throws IOException {
        return start(directory, capacity, Map.of());
    }

    /** Starts the process with environment variables. */
    static InteractiveProcess start(Path directory, long capacity, Map<String, String> variables)
            throws IOException {
        return new InteractiveProcess(ChildJvm.of(TierProcess.class)
                .shortLived()
                .variables(variables)
                .start(directory.toString(), Long.toString(capacity)));
    }

    /**
     * Entry point of the other process. Commands: {@code stop STEP}, {@code store NAME SIZE},
     * {@code load NAME SIZE}, {@code discard NAME SIZE}, {@code replace NAME COUNT SIZE},
     * {@code many PREFIX COUNT SIZE}, {@code contend PREFIX THREADS COUNT SIZE}, {@code clear},
     * {@code sweep}, {@code capacity BYTES}, {@code claim NAME}, {@code halt}.
     */
    public static void main(String[] arguments) throws Exception {
        String[] stopAfter = {""};
        StoreStep.Listener listener = step -> {
            if (step.name().equals(stopAfter[0])) {
                stopAfter[0] = "";
                System.out.println("AT " + step);
                stall();
            }
        };
        LocalTierConfig config = LocalTierConfig.builder(Path.of(arguments[0]))
                .capacityBytes(Long.parseLong(arguments[1]))
                .background(Runnable::run)
                .build();
        try (LocalTier tier = LocalTier.open(config, listener, bound -> bound - 1);
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                if (words[0].equals("stop")) {
                    stopAfter[0] = StoreStep.valueOf(words[1]).name();
                }
                System.out.println(answer(tier, words));
            }
        }
    }

    private static String answer(LocalTier tier, String[] words) {
        return switch (words[0]) {
            case "stop" -> "will stop";
            case "store" ->
                tier.store(SharedEntries.entry(words[1], Integer.parseInt(words[2])))
                        .getClass()
                        .getSimpleName();
            case "load" -> load(tier, SharedEntries.entry(words[1], Integer.parseInt(words[2])));
            case "many" -> {
                for (int i = 0; i < Integer.parseInt(words[2]); i++) {
                    Entry entry = SharedEntries.entry(words[1] + i, Integer.parseInt(words[3]));
                    if (tier.store(entry) instanceof StoreResult.Failed failed) {
                        yield failed.cause();
                    }
                }
                yield "done";
            }
            case "replace" -> {
                for (int i = 0; i < Integer.parseInt(words[2]); i++) {
                    tier.store(SharedEntries.entry(
                            words[1], (i % 2 == 0 ? 3 : 1) * Integer.parseInt(words[3])));
                }
                yield "done";
            }
            case "discard" -> {
                tier.discard(SharedEntries.entry(words[1], Integer.parseInt(words[2])));
                yield "done";
            }
            case "claim" -> {
                try (LocalClaims claims = LocalClaims.open(tier.directory())) {
                    yield claims.claim(TestEntries.id(words[1])).getClass().getSimpleName();
                }
            }
            case "contend" -> contend(tier, words).line();
            case "clear" -> {
                tier.clear();
                yield "done";
            }
            case "sweep" -> Boolean.toString(tier.enforceCapacity());
            case "capacity" -> {
                tier.setCapacity(Long.parseLong(words[1]));
                yield "done";
            }
            case "halt" -> {
                Runtime.getRuntime().halt(7);
                yield "unreachable";
            }
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    /** Contends in a tier of its own, as applications do: sweeps run in the background. */
    private static ContentionRun contend(LocalTier same, String[] words) {
        try (LocalTier tier = LocalTier.open(LocalTierConfig.builder(same.directory())
                .capacityBytes(same.capacityBytes())
                .build())) {
            return ContentionRun.run(
                    tier,
                    words[1],
                    Integer.parseInt(words[2]),
                    Integer.parseInt(words[3]),
                    Integer.parseInt(words[4]));
        } catch (LocalDirectoryException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String load(LocalTier tier, Entry expected) {
        LoadResult result = tier.load(expected.id());
        return result instanceof LoadResult.Hit hit
                        && !hit.entry().binaries().equals(expected.binaries())
                ? "WRONG"
                : result.getClass().getSimpleName();
    }

    private static void stall() {
        try {
            if (System.in.read() < 0) { // the parent has ended
                Runtime.getRuntime().halt(1);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
