package dev.granary.gpu.binary;

/** Text from containers, made safe for a message of one line. */
final class ContainerText {
    private static final int LIMIT = 128;
    private static final int NAME_LIMIT = 1_000;

    private ContainerText() {}

    /**
     * Returns the text with a question mark for each character other than printable ASCII, and the
     * first {@value #LIMIT} characters only.
     */
    static String printable(String text) {
        StringBuilder safe = new StringBuilder(Math.min(text.length(), LIMIT));
        for (int i = 0; i < text.length() && i < LIMIT; i++) {
            char c = text.charAt(i);
            safe.append(c >= ' ' && c <= '~' ? c : '?');
        }
        return safe.toString();
    }

    /** Returns the characters before the first NUL, at most {@value #NAME_LIMIT}. */
    static String beforeNul(ContainerBytes bytes) {
        String text = bytes.text(NAME_LIMIT);
        int end = text.indexOf('\0');
        return end < 0 ? text : text.substring(0, end);
    }
}
