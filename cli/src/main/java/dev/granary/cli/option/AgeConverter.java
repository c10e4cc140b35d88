package dev.granary.cli.option;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Converter of ages such as {@code 30d} or {@code 12h}. */
public final class AgeConverter {
    private static final Pattern AGE = Pattern.compile("([0-9]{1,6})\\s*(s|m|h|d|w)");

    private AgeConverter() {}

    public static Duration parse(String text, String option) throws UsageException {
        Matcher matcher = AGE.matcher(text.strip());
        if (!matcher.matches()) {
            throw new UsageException(option + " is '" + text
                    + "', but should be an age such as 30d, 12h, 45m, 90s or 2w");
        }
        int number = Integer.parseInt(matcher.group(1));
        return switch (matcher.group(2)) {
            case "s" -> Duration.ofSeconds(number);
            case "m" -> Duration.ofMinutes(number);
            case "h" -> Duration.ofHours(number);
            case "d" -> Duration.ofDays(number);
            default -> Duration.ofDays(7L * number);
        };
    }
}
