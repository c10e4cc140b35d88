package dev.granary.gpu.trial;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * The output of the process of a {@link RestoreTrial}, in which a driver may print any number of
 * lines between those of {@link TrialMain}.
 *
 * @param hasBegun whether the driver got the binaries
 * @param hasReturned whether the driver returned
 * @param lastLine the last other line that is not blank, at most its first 1,024 bytes; empty if
 *     there is none
 */
record TrialOutput(boolean hasBegun, boolean hasReturned, String lastLine) {
    private static final int MAX_LINE_BYTES = 1 << 10;

    /** Reads an output to its end. The memory does not depend on its length. */
    static TrialOutput read(InputStream output) throws IOException {
        TrialOutput read = new TrialOutput(false, false, "");
        ByteArrayOutputStream line = new ByteArrayOutputStream(MAX_LINE_BYTES);
        InputStream in = new BufferedInputStream(output);
        for (int next = in.read(); next >= 0; next = in.read()) {
            if (next == '\n') {
                read = read.plus(line.toString(UTF_8));
                line.reset();
            } else if (line.size() < MAX_LINE_BYTES) {
                line.write(next);
            }
        }
        return read.plus(line.toString(UTF_8));
    }

    private TrialOutput plus(String line) {
        return switch (line.strip()) {
            case "" -> this;
            case TrialMain.RESTORING -> new TrialOutput(true, hasReturned, lastLine);
            case TrialMain.RESTORED -> new TrialOutput(hasBegun, true, lastLine);
            case String other -> new TrialOutput(hasBegun, hasReturned, other);
        };
    }
}
