package dev.granary.gpu;

import dev.granary.testing.ChildJvm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A JVM of a test that uses a driver without the driver's own cache. */
public final class DriverProcess {
    private DriverProcess() {}

    /**
     * Returns a launcher of {@code main} with {@code directory} as working directory. A line of the
     * error output may begin within a line of standard output.
     */
    public static ChildJvm of(Class<?> main, Path directory) throws IOException {
        Path cache = Files.createDirectories(directory.resolve("driver-cache"));
        return ChildJvm.of(main)
                .shortLived()
                .directory(directory)
                .mergeErrors()
                .variables(Map.of("POCL_KERNEL_CACHE", "0", "POCL_CACHE_DIR", cache.toString()));
    }

    /**
     * Returns the text after {@code name=} in the output of a process, anywhere in a line: a driver
     * may have written before it.
     */
    public static String value(String output, String name) {
        Matcher found = Pattern.compile("\\b" + Pattern.quote(name) + "=(.*)").matcher(output);
        if (!found.find()) {
            throw new AssertionError("The process did not print " + name + ": " + output);
        }
        return found.group(1);
    }
}
