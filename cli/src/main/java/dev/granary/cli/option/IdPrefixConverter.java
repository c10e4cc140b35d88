package dev.granary.cli.option;

import java.util.Locale;

/** Converter of the first digits of an id. */
public final class IdPrefixConverter {
    private IdPrefixConverter() {}

    public static String parse(String text) throws UsageException {
        String prefix = text.toLowerCase(Locale.ROOT);
        if (!prefix.matches("[0-9a-f]{1,64}")) {
            throw new UsageException("'" + text
                    + "' is not an id: ids consist of up to 64 digits 0-9 and a-f, as"
                    + " granary ls shows them");
        }
        return prefix;
    }
}
