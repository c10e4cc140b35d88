package dev.granary.cli.option;

import dev.granary.cache.Backend;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;

import org.jspecify.annotations.Nullable;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Converters of the values of options. */
public final class Converters {
    private Converters() {}

    /** Converter of ages such as {@code 30d} or {@code 12h}. */
    public static final class Age implements ITypeConverter<Duration> {
        private static final Pattern AGE = Pattern.compile("([0-9]{1,6})\\s*([smhdw])");

        @Override
        public Duration convert(String text) {
            Matcher matcher = AGE.matcher(text.strip());
            if (!matcher.matches()) {
                throw new TypeConversionException(
                        "'" + text + "' should be an age such as 30d, 12h, 45m, 90s or 2w");
            }
            Duration unit =
                    switch (matcher.group(2)) {
                        case "s" -> Duration.ofSeconds(1);
                        case "m" -> Duration.ofMinutes(1);
                        case "h" -> Duration.ofHours(1);
                        case "d" -> Duration.ofDays(1);
                        default -> Duration.ofDays(7);
                    };
            return unit.multipliedBy(Integer.parseInt(matcher.group(1)));
        }
    }

    /** Converter of sizes such as {@code 500MiB}, in bytes; 0 is allowed. */
    public static final class Size implements ITypeConverter<Long> {
        @Override
        public Long convert(String text) {
            try {
                return text.strip().equals("0") ? 0 : GranaryConfig.size(text, "the size");
            } catch (ConfigException e) {
                throw new TypeConversionException(e.getMessage());
            }
        }
    }

    /** Converter of backends; null for {@code auto}. */
    static final class OneBackend implements ITypeConverter<Backend> {
        @Override
        public @Nullable Backend convert(String text) {
            if (text.equals("auto")) {
                return null;
            }
            return Backend.ownOf(text)
                    .orElseThrow(() -> new TypeConversionException(
                            "it must be opencl, level-zero or auto, not " + text));
        }
    }

    /** Converter of the first digits of an id. */
    public static final class IdPrefix implements ITypeConverter<String> {
        @Override
        public String convert(String text) {
            String prefix = text.toLowerCase(Locale.ROOT);
            if (!prefix.matches("[0-9a-f]{1,64}")) {
                throw new TypeConversionException("'" + text
                        + "' is not an id: ids consist of up to 64 digits 0-9 and a-f, as"
                        + " granary ls shows them");
            }
            return prefix;
        }
    }
}
