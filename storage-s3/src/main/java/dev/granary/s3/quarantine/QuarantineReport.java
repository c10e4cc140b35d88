package dev.granary.s3.quarantine;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The report that the restore of one content of an entry ended processes. Immutable.
 *
 * @param id the hash of the entry's id
 * @param content the hash of the content that ended the processes
 * @param reporters the origins of the report, in their order; none if the report was withdrawn
 */
public record QuarantineReport(Sha256 id, Sha256 content, List<QuarantineReporter> reporters) {
    /** The largest number of reporters; those of two computers suffice. */
    static final int MAX_REPORTERS = 16;

    /** The largest length of a report in bytes. */
    static final int MAX_BYTES = 4096;

    private static final String MAGIC = "granary quarantine report ";
    private static final int VERSION = 1;
    private static final Pattern HEAD = Pattern.compile(MAGIC + "([1-9][0-9]{0,8})");
    private static final Pattern REPORTER =
            Pattern.compile("(machine|operator) ([0-9a-f]{32}) ([0-9a-f]{32})");

    public QuarantineReport {
        reporters = List.copyOf(reporters);
    }

    /** The outcome of parsing a report. */
    sealed interface Parsed {
        /** A report of this version. */
        record Known(QuarantineReport report) implements Parsed {}

        /** A report of a newer version of Granary, which is left alone. */
        record Newer() implements Parsed {}

        /** Not the report of that id and content. */
        record Malformed() implements Parsed {}
    }

    /** Returns a report without reporters. */
    static QuarantineReport none(Sha256 id, Sha256 content) {
        return new QuarantineReport(id, content, List.of());
    }

    /**
     * Returns true if the entry is to be replaced: a person decided so, or one computer cannot be
     * the origin of all reporters. Those that share a directory or a host, directly or through
     * others, count as one computer: a restart changes the host, and not the directory.
     */
    public boolean isConfirmed() {
        return reporters.stream()
                        .anyMatch(one -> one.authority() == QuarantineReporter.Authority.OPERATOR)
                || !connectedToFirst().containsAll(reporters);
    }

    private Set<QuarantineReporter> connectedToFirst() {
        Set<QuarantineReporter> connected =
                new HashSet<>(reporters.subList(0, Math.min(1, reporters.size())));
        boolean isGrowing = true;
        while (isGrowing) {
            isGrowing = reporters.stream()
                    .filter(one -> !connected.contains(one)
                            && connected.stream().anyMatch(one::isOfSameComputer))
                    .findFirst()
                    .filter(connected::add)
                    .isPresent();
        }
        return connected;
    }

    /** Returns this report with one more reporter, or itself if that changes nothing. */
    QuarantineReport plus(QuarantineReporter reporter) {
        if (isConfirmed() || reporters.contains(reporter)) {
            return this;
        }
        List<QuarantineReporter> all = new ArrayList<>(reporters);
        all.add(reporter);
        QuarantineReport next = new QuarantineReport(id, content, all);
        return all.size() < MAX_REPORTERS || next.isConfirmed() ? next : this;
    }

    /** Returns the content of the object. */
    byte[] encode() {
        StringBuilder text = new StringBuilder(MAGIC)
                .append(VERSION)
                .append("\nid ")
                .append(id.hex())
                .append("\ncontent ")
                .append(content.hex())
                .append('\n');
        reporters.forEach(one -> text.append(one.authority().text())
                .append(' ')
                .append(one.machine())
                .append(' ')
                .append(one.host())
                .append('\n'));
        return text.toString().getBytes(US_ASCII);
    }

    /** Parses an object with arbitrary content, found under the key of that id and content. */
    static Parsed parse(byte[] bytes, Sha256 id, Sha256 content) {
        String[] lines = new String(bytes, US_ASCII).split("\n", -1);
        Matcher head = HEAD.matcher(lines[0]);
        if (!head.matches()) {
            return new Parsed.Malformed();
        }
        if (Integer.parseInt(head.group(1)) > VERSION) {
            return new Parsed.Newer();
        }
        int last = lines.length - 1;
        if (last < 3
                || last - 3 > MAX_REPORTERS
                || !lines[1].equals("id " + id.hex())
                || !lines[2].equals("content " + content.hex())
                || !lines[last].isEmpty()) {
            return new Parsed.Malformed();
        }
        List<QuarantineReporter> reporters = new ArrayList<>();
        for (String line : Arrays.asList(lines).subList(3, last)) {
            Matcher reporter = REPORTER.matcher(line);
            if (!reporter.matches()) {
                return new Parsed.Malformed();
            }
            reporters.add(new QuarantineReporter(
                    reporter.group(2),
                    reporter.group(3),
                    QuarantineReporter.Authority.valueOf(
                            reporter.group(1).toUpperCase(Locale.ROOT))));
        }
        return new Parsed.Known(new QuarantineReport(id, content, reporters));
    }
}
