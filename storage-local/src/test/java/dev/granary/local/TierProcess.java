package dev.granary.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Another process with a tier on a directory, which does what it is told over its standard input and answers in single lines. It can be
 * told to stop for ever after a step of its next store.
 */
final class TierProcess implements AutoCloseable {
    private final Process process;
    private final Writer commands;
    private final BufferedReader answers;

    private TierProcess(Process process) {
        this.process = process;
        this.commands = process.outputWriter(UTF_8);
        this.answers = process.inputReader(UTF_8);
    }

    /** Starts a process; {@code stopAfter} is the name of a step, or empty. */
    static TierProcess start(Path directory, long capacity, String stopAfter) throws IOException {
        List<String> command = Stream.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC", "-Xshare:auto", "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=deny", "-cp",
                        System.getProperty("java.class.path"), TierProcess.class.getName(), directory.toString(),
                        Long.toString(capacity), stopAfter)
                .collect(Collectors.toList());
        return new TierProcess(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
    }

    /** Sends a command and waits for nothing. */
    void send(String command) throws IOException {
        commands.write(command + "\n");
        commands.flush();
    }

    /** The next line that the process says. */
    String answer() throws IOException {
        return Objects.requireNonNull(answers.readLine(), "the process ended");
    }

    String ask(String command) throws IOException {
        send(command);
        return answer();
    }

    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Lets the process end by itself; returns its exit status. */
    int finish() throws IOException, InterruptedException {
        commands.close();
        return process.waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** What runs in the other process: {@code store NAME SIZE}, {@code load NAME SIZE}, {@code many PREFIX COUNT SIZE}, {@code halt}. */
    public static void main(String[] arguments) throws Exception {
        String stopAfter = arguments[2];
        Step.Listener listener = step -> {
            if (step.name().equals(stopAfter)) {
                System.out.println("AT " + step);
                stopForEver();
            }
        };
        LocalConfig config = LocalConfig.builder(Path.of(arguments[0])).capacityBytes(Long.parseLong(arguments[1])).build();
        try (LocalTier tier = LocalTier.open(config, id -> id.hash(), listener);
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                System.out.println(answer(tier, words));
            }
        }
    }

    private static String answer(LocalTier tier, String[] words) {
        return switch (words[0]) {
            case "store" -> tier.store(Material.entry(words[1], Integer.parseInt(words[2]))).getClass().getSimpleName();
            case "load" -> load(tier, Material.entry(words[1], Integer.parseInt(words[2])));
            case "many" -> {
                for (int i = 0; i < Integer.parseInt(words[2]); i++) {
                    tier.store(Material.entry(words[1] + i, Integer.parseInt(words[3])));
                }
                yield "done";
            }
            case "halt" -> {
                Runtime.getRuntime().halt(7);
                yield "unreachable";
            }
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static String load(LocalTier tier, Entry expected) {
        LoadResult result = tier.load(expected.id());
        return result instanceof LoadResult.Hit hit && !hit.entry().binaries().equals(expected.binaries())
                ? "WRONG"
                : result.getClass().getSimpleName();
    }

    private static void stopForEver() {
        try {
            while (System.in.read() >= 0) {
                // until killed, or until the parent is gone
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Runtime.getRuntime().halt(1);
    }
}
