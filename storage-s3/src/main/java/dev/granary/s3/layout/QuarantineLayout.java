package dev.granary.s3.layout;

import dev.granary.cache.Sha256;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keys of the reports of a quarantine: {@code <target>/q/<sha256 of id>-<sha256 of content>}. */
public final class QuarantineLayout {
    private static final Pattern REPORT =
            Pattern.compile(BucketLayout.NAMESPACE + "/q/([0-9a-f]{64})-([0-9a-f]{64})");

    private final String root;

    /**
     * Creates the layout of a bucket.
     *
     * @param root the common prefix of all keys of the bucket; ends with a slash
     */
    public QuarantineLayout(String root) {
        this.root = root;
    }

    /** The id and content of a report. */
    public record Reported(String namespace, Sha256 id, Sha256 content) {}

    /** Returns the common prefix of the keys of all objects. */
    public String root() {
        return root;
    }

    /** Returns the key of the report of a content under an id. */
    public String report(String namespace, Sha256 id, Sha256 content) {
        return root + namespace + "/q/" + id.hex() + "-" + content.hex();
    }

    /** Returns the id and content of a report by its key, or empty for any other key. */
    public Optional<Reported> reported(String key) {
        Matcher report = REPORT.matcher(key.startsWith(root) ? key.substring(root.length()) : "");
        return report.matches()
                ? Optional.of(new Reported(
                        report.group(1),
                        Sha256.parse(report.group(2)),
                        Sha256.parse(report.group(3))))
                : Optional.empty();
    }
}
