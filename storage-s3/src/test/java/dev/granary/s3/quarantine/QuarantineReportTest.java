package dev.granary.s3.quarantine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Sha256;
import dev.granary.cache.fuzz.FuzzTarget;
import dev.granary.cache.fuzz.Fuzzer;
import dev.granary.s3.quarantine.QuarantineReporter.Authority;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.stream.IntStream;

/** The content of reports: who confirms whom, and the form in the bucket. */
class QuarantineReportTest {
    private static final Sha256 ID = Sha256.of(new byte[] {1});
    private static final Sha256 CONTENT = Sha256.of(new byte[] {2});
    private static final QuarantineReport NONE = QuarantineReport.none(ID, CONTENT);

    private static String number(int value) {
        return String.format("%032x", value);
    }

    private static QuarantineReporter machine(int directory, int host) {
        return new QuarantineReporter(number(directory), number(host), Authority.MACHINE);
    }

    private static QuarantineReport of(QuarantineReporter... reporters) {
        QuarantineReport report = NONE;
        for (QuarantineReporter one : reporters) {
            report = report.plus(one);
        }
        return report;
    }

    private static QuarantineReport parsed(byte[] bytes) {
        return ((QuarantineReport.Parsed.Known) QuarantineReport.parse(bytes, ID, CONTENT))
                .report();
    }

    @Test
    @DisplayName("N7 two computers confirm a report; one with several directories, or restarted,"
            + " does not")
    void confirmation() {
        assertFalse(NONE.isConfirmed());
        assertFalse(of(machine(1, 1)).isConfirmed());
        assertTrue(of(machine(1, 1), machine(2, 2)).isConfirmed());
        assertFalse(of(machine(1, 1), machine(2, 1)).isConfirmed(), "two containers of one host");
        assertFalse(of(machine(1, 1), machine(1, 2)).isConfirmed(), "one directory, restarted");
        assertFalse(
                of(machine(2, 1), machine(1, 2), machine(1, 1)).reporters().size() < 2,
                "the first two are of two computers as far as is known");
        QuarantineReport chain =
                new QuarantineReport(ID, CONTENT, List.of(machine(2, 1), machine(1, 1)));
        assertFalse(chain.plus(machine(1, 2)).isConfirmed(), "the second connects the others");
        assertTrue(chain.plus(machine(3, 3)).isConfirmed());
    }

    @Test
    @DisplayName("N7 the report of an operator needs no other")
    void operator() {
        assertTrue(of(new QuarantineReporter(number(1), number(1), Authority.OPERATOR))
                .isConfirmed());
    }

    @Test
    @DisplayName(
            "A repeated reporter changes nothing; one computer cannot fill a report for others")
    void bounded() {
        QuarantineReport once = of(machine(1, 1));
        assertSame(once, once.plus(machine(1, 1)));
        QuarantineReport many = of(IntStream.range(0, 100)
                .mapToObj(i -> machine(1, i))
                .toArray(QuarantineReporter[]::new));
        assertFalse(many.isConfirmed());
        assertTrue(many.encode().length <= QuarantineReport.MAX_BYTES);
        QuarantineReport other = many.plus(machine(500, 500));
        assertTrue(other.isConfirmed());
        assertTrue(other.encode().length <= QuarantineReport.MAX_BYTES);
        assertEquals(other, parsed(other.encode()));
        assertSame(other, other.plus(machine(501, 501)), "nothing is left to confirm");
    }

    @Test
    @DisplayName("A report has the documented form, and is that of its id and content only")
    void form() {
        QuarantineReport report = of(machine(10, 11), machine(12, 13));
        assertEquals(
                "granary quarantine report 1\nid " + ID.hex() + "\ncontent " + CONTENT.hex()
                        + "\nmachine " + number(10) + " " + number(11) + "\nmachine " + number(12)
                        + " " + number(13) + "\n",
                new String(report.encode(), US_ASCII));
        assertEquals(report, parsed(report.encode()));
        assertEquals(NONE, parsed(NONE.encode()));
        assertEquals(
                new QuarantineReport.Parsed.Malformed(),
                QuarantineReport.parse(report.encode(), CONTENT, ID));
        String text = new String(report.encode(), US_ASCII);
        assertEquals(
                new QuarantineReport.Parsed.Newer(),
                QuarantineReport.parse(
                        text.replace("report 1", "report 2").getBytes(US_ASCII), ID, CONTENT));
        assertEquals(
                new QuarantineReport.Parsed.Malformed(),
                QuarantineReport.parse(
                        text.substring(0, text.length() - 1).getBytes(US_ASCII), ID, CONTENT));
    }

    @Test
    @DisplayName("Fuzz: a report is known, newer or malformed, and a known one is written again")
    void fuzz() {
        Fuzzer.run(FuzzTarget.of(
                        "quarantine report",
                        List.of(
                                of(machine(10, 11), machine(12, 13)).encode(),
                                of(new QuarantineReporter(number(1), number(2), Authority.OPERATOR))
                                        .encode(),
                                NONE.encode()),
                        bytes -> {
                            if (QuarantineReport.parse(bytes, ID, CONTENT)
                                    instanceof QuarantineReport.Parsed.Known(var report)) {
                                assertEquals(report, parsed(report.encode()));
                            }
                        })
                .words(List.of("machine ", "operator ", "granary quarantine report 2", "\n\n")));
    }
}
