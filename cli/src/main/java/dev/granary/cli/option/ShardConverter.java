package dev.granary.cli.option;

import dev.granary.cli.manifest.Shard;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Converter of a part of a manifest, such as {@code 2/4}. */
public final class ShardConverter {
    private static final Pattern SHARD = Pattern.compile("([0-9]{1,9})/([0-9]{1,9})");

    private ShardConverter() {}

    public static Shard parse(String text, String option) throws UsageException {
        Matcher matcher = SHARD.matcher(text);
        if (matcher.matches()) {
            int number = Integer.parseInt(matcher.group(1));
            int count = Integer.parseInt(matcher.group(2));
            if (number >= 1 && number <= count) {
                return new Shard(number, count);
            }
        }
        throw new UsageException(option + " is '" + text
                + "', but should be a part I/N with I from 1 to N, such as 2/4");
    }
}
