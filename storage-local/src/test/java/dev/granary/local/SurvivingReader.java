package dev.granary.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.local.config.LocalTierConfig;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.InteractiveProcess;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;

/** Process that maps a directory while its files are damaged, and that must survive it. */
final class SurvivingReader {
    private SurvivingReader() {}

    /**
     * Starts the process. Its commands are {@code load NAME SIZE}, {@code store NAME SIZE} and
     * {@code loads NAME SIZE COUNT}, which is answered by the last result.
     */
    static InteractiveProcess start(Path directory, long capacity) throws IOException {
        return new InteractiveProcess(ChildJvm.of(SurvivingReader.class)
                .flags(
                        "-XX:+UseSerialGC",
                        "-XX:-CreateCoredumpOnCrash",
                        "-XX:ErrorFile=" + directory + "-crash.log")
                .start(directory.toString(), Long.toString(capacity)));
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
