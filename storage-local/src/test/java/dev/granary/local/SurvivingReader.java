package dev.granary.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.local.config.LocalTierConfig;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/** Process that maps a directory while its files are damaged, and that must survive it. */
final class SurvivingReader implements AutoCloseable {
    private final Process process;
    private final Writer commands;
    private final BufferedReader answers;

    private SurvivingReader(Process process) {
        this.process = process;
        this.commands = process.outputWriter(UTF_8);
        this.answers = process.inputReader(UTF_8);
    }

    static SurvivingReader start(Path directory, long capacity) throws IOException {
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=" + directory + "-crash.log",
                "-cp",
                System.getProperty("java.class.path"),
                SurvivingReader.class.getName(),
                directory.toString(),
                Long.toString(capacity));
        return new SurvivingReader(new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
    }

    /**
     * Sends {@code load NAME SIZE}, {@code store NAME SIZE} or {@code loads NAME SIZE COUNT} to the
     * process; returns the last result.
     */
    String request(String command) throws IOException {
        send(command);
        return answer();
    }

    void send(String command) throws IOException {
        commands.write(command + "\n");
        commands.flush();
    }

    String answer() throws IOException {
        return Objects.requireNonNull(answers.readLine(), "the process died");
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    public static void main(String[] arguments) throws Exception {
        LocalTierConfig config = LocalTierConfig.builder(Path.of(arguments[0]))
                .capacityBytes(Long.parseLong(arguments[1]))
                .background(Runnable::run)
                .build();
        try (LocalTier tier = LocalTier.open(config);
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                Entry entry = SharedEntries.entry(words[1], Integer.parseInt(words[2]));
                System.out.println(
                        switch (words[0]) {
                            case "load" -> load(tier, entry);
                            case "loads" -> loads(tier, entry, Integer.parseInt(words[3]));
                            default -> tier.store(entry).getClass().getSimpleName();
                        });
            }
        }
    }

    private static String load(LocalTier tier, Entry expected) {
        LoadResult result = tier.load(expected.id());
        return result instanceof LoadResult.Hit hit
                        && !hit.entry().binaries().equals(expected.binaries())
                ? "WRONG"
                : result.getClass().getSimpleName();
    }

    private static String loads(LocalTier tier, Entry expected, int count) {
        String result = "";
        for (int i = 0; i < count && !result.equals("WRONG"); i++) {
            result = load(tier, expected);
        }
        return result;
    }
}
