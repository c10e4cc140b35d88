package dev.granary.local;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.TrustPolicy;
import dev.granary.testing.ChildJvm;
import dev.granary.testing.InteractiveProcess;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;

/** Process with a shared directory, as another machine has it, controlled over its input. */
final class SharedDirectoryProcess {
    private SharedDirectoryProcess() {}

    static InteractiveProcess start(Path directory) throws IOException {
        return new InteractiveProcess(
                ChildJvm.of(SharedDirectoryProcess.class).shortLived().start(directory.toString()));
    }

    /**
     * Entry point of the other process. Commands: {@code store NAME SIZE}, {@code load NAME SIZE};
     * {@code storing PREFIX SIZE} announces each store and does not end.
     */
    public static void main(String[] arguments) throws Exception {
        try (SharedDirectory shared =
                        new SharedDirectory(Path.of(arguments[0]), true, TrustPolicy.OFF);
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                int size = Integer.parseInt(words[2]);
                switch (words[0]) {
                    case "store" -> System.out.println(store(shared, words[1], size));
                    case "load" -> System.out.println(load(shared, words[1], size));
                    case "storing" -> {
                        for (int i = 0; ; i++) {
                            System.out.println(store(shared, words[1] + i, size));
                        }
                    }
                    default -> throw new IllegalArgumentException(line);
                }
            }
        }
    }

    private static String store(SharedDirectory shared, String name, int size) {
        StoreResult result = shared.store(SharedEntries.entry(name, size));
        return result.getClass().getSimpleName();
    }

    private static String load(SharedDirectory shared, String name, int size) {
        LoadResult result = shared.load(SharedEntries.entry(name, size).id());
        return result instanceof LoadResult.Hit hit
                        && !hit.entry()
                                .binaries()
                                .equals(SharedEntries.entry(name, size).binaries())
                ? "WRONG"
                : result.getClass().getSimpleName();
    }
}
