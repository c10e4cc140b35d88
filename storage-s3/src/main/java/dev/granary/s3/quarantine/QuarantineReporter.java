package dev.granary.s3.quarantine;

import java.util.Locale;
import java.util.regex.Pattern;

/**
 * The origin of a {@link QuarantineReport}. Names and addresses of machines are not in it.
 *
 * @param machine a random number of the local directory, 32 hexadecimal digits
 * @param host a number that processes under one running kernel share, containers included, 32
 *     hexadecimal digits
 * @param authority the weight of the report: that of a process or of a person
 */
public record QuarantineReporter(String machine, String host, Authority authority) {
    private static final Pattern NUMBER = Pattern.compile("[0-9a-f]{32}");

    /** The weight of a report. */
    public enum Authority {
        /** A process ended there. A report of another computer must confirm it. */
        MACHINE,
        /** A person reports it, which needs no confirmation. */
        OPERATOR;

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Checks the fields.
     *
     * @throws IllegalArgumentException if a number has other characters
     */
    public QuarantineReporter {
        if (!NUMBER.matcher(machine).matches() || !NUMBER.matcher(host).matches()) {
            throw new IllegalArgumentException(
                    "Not 32 hexadecimal digits each: " + machine + ", " + host);
        }
    }

    /** Returns true if both come from one directory, or from one running kernel. */
    boolean isOfSameComputer(QuarantineReporter other) {
        return machine.equals(other.machine) || host.equals(other.host);
    }
}
