package dev.granary.s3;

import dev.granary.testing.ChildJvm;

import java.util.LinkedHashMap;
import java.util.Map;

/** A JVM with a small heap: its work fits, or it reports that it did not. */
final class SmallProcess {
    private SmallProcess() {}

    /** Returns a launcher of {@code main} with a heap of {@code mebibytes}. */
    static ChildJvm of(Class<?> main, int mebibytes) {
        return ChildJvm.of(main).shortLived().flags("-Xmx" + mebibytes + "m");
    }

    /** Returns the lines of the form {@code name=value} that the process has printed. */
    static Map<String, String> values(ChildJvm.Result result) {
        Map<String, String> values = new LinkedHashMap<>();
        for (String line : result.lines()) {
            int equals = line.indexOf('=');
            if (equals >= 0) {
                values.put(line.substring(0, equals), line.substring(equals + 1));
            }
        }
        return values;
    }
}
