package dev.granary.gpu.binary;

import dev.granary.gpu.binary.BinaryContainer.Ptx;
import dev.granary.gpu.device.CudaArchitecture;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reader of the directives at the start of a PTX text: version and target, after comments of lines.
 */
final class PtxReader {
    /** The bytes that are read; compilers write the directives into the first 300. */
    private static final int LIMIT = 4096;

    private static final String FIRST_CHARACTERS = " \t\r\n/.";
    private static final Pattern VERSION =
            Pattern.compile("\\.version\\s{1,8}([0-9]{1,3}\\.[0-9]{1,3})(?![0-9.])");
    private static final Pattern TARGET =
            Pattern.compile("\\.target\\s{1,8}sm_([0-9]{2,4})([a-z]?)(?![0-9a-z_])");

    private PtxReader() {}

    /** Returns the container of a text with these directives; empty for any other bytes. */
    static Optional<Ptx> read(ContainerBytes bytes) {
        String first = bytes.text(1);
        if (first.isEmpty() || FIRST_CHARACTERS.indexOf(first.charAt(0)) < 0) {
            return Optional.empty();
        }
        String text = bytes.text(LIMIT);
        Matcher version = VERSION.matcher(text);
        if (!version.region(directive(text, 0), text.length()).lookingAt()) {
            return Optional.empty();
        }
        Matcher target = TARGET.matcher(text);
        if (!target.region(directive(text, version.end()), text.length()).lookingAt()) {
            return Optional.empty();
        }
        return Optional.of(new Ptx(
                version.group(1),
                new CudaArchitecture(Integer.parseInt(target.group(1)), target.group(2))));
    }

    /** Returns the position after blanks and comments. */
    private static int directive(String text, int from) {
        int at = from;
        while (at < text.length()) {
            if (text.startsWith("//", at)) {
                int end = text.indexOf('\n', at);
                at = end < 0 ? text.length() : end;
            } else if (Character.isWhitespace(text.charAt(at))) {
                at++;
            } else {
                break;
            }
        }
        return at;
    }
}
