package dev.granary.cli.kernel;

import dev.granary.cache.Id;
import dev.granary.cli.output.Report;
import dev.granary.coordinator.toml.SafeText;

import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Search for build options and tags that probably differ with each machine or build, so that their
 * ids never hit again. Only what enters the id counts: not {@code -I/opt/include}, whose directory
 * the key names relative to the source.
 */
final class UnstableInputs {
    private static final Set<String> FIELDS = Set.of("option", "tag");

    /** A reason, with the texts that it is found by; the first one counts. */
    private enum Reason {
        UNIQUE_ID(
                "a unique id",
                "(?i)(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])"),
        TEMPORARY(
                "the name of a temporary file or a process number",
                "/tmp/|\\b(?:tmp|temp)[._-](?=\\w*\\d)\\w{6,}"
                        + "|\\btmp(?=[a-z0-9_]*\\d)[a-z0-9_]{6,10}\\b|\\bpid[=_.-]?\\d{2,}"),
        PATH(
                "an absolute path",
                "(?:^|(?<=[=\\s\"',;:(]))(?:/[A-Za-z_.][\\w.+-]*/|[A-Za-z]:[\\\\/]\\w)"),
        /** Years 2000 to 2099, or seconds and milliseconds since 1970 of 2017 to 2033. */
        TIME(
                "a date or time",
                "(?<![\\w.])20\\d\\d[-/.]?(?:0[1-9]|1[0-2])[-/.]?(?:0[1-9]|[12]\\d|3[01])"
                        + "(?:[T_-]?\\d{4,6}Z?)?(?![\\w.])"
                        + "|(?<!\\d)[0-2]\\d:[0-5]\\d:[0-5]\\d"
                        + "|(?<![\\w.])1[5-9]\\d{8}(?:\\d{3})?(?![\\w.])");

        private final String text;
        private final Pattern pattern;

        Reason(String text, String pattern) {
            this.text = text;
            this.pattern = Pattern.compile(pattern);
        }
    }

    private UnstableInputs() {}

    /** Adds a line for each suspicious option or tag of a kernel to a report. */
    static void add(String kernel, Id id, Report report) {
        if (!id.isEmpty()) {
            for (Id.Field field : id.fields()) {
                reason(field).ifPresent(reason -> add(kernel, field, reason, report));
            }
        }
    }

    private static void add(String kernel, Id.Field field, String reason, Report report) {
        report.part("unstableInputs")
                .data("kernel", kernel)
                .data("field", field.name())
                .data("value", field.text())
                .data("reason", reason)
                .line("note: kernel '" + SafeText.inOneLine(kernel) + "': the " + field.name() + " "
                        + SafeText.inOneLine(field.text()) + " has " + reason
                        + "; if it varies, its entries are never found again");
    }

    static Optional<String> reason(Id.Field field) {
        return FIELDS.contains(field.name())
                ? Arrays.stream(Reason.values())
                        .filter(each -> each.pattern.matcher(field.text()).find())
                        .map(each -> each.text)
                        .findFirst()
                : Optional.empty();
    }
}
