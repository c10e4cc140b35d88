package dev.granary.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Another JVM with a small heap: its work fits, or it reports that it did not. */
final class SmallProcess {
    private SmallProcess() {}

    /**
     * Runs {@code main} to its end with a heap of {@code mebibytes}; returns its output lines of
     * the form {@code name=value}.
     */
    static Map<String, String> run(
            int mebibytes, Class<?> main, List<String> options, List<String> arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx" + mebibytes + "m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow"));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(arguments);
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Map<String, String> output = new LinkedHashMap<>();
        String text = new String(process.getInputStream().readAllBytes(), UTF_8);
        text.lines()
                .filter(line -> line.contains("="))
                .forEach(line -> output.put(
                        line.substring(0, line.indexOf('=')),
                        line.substring(line.indexOf('=') + 1)));
        if (process.waitFor() != 0) {
            throw new AssertionError(
                    main.getSimpleName() + " ended with " + process.exitValue() + ":\n" + text);
        }
        return output;
    }
}
