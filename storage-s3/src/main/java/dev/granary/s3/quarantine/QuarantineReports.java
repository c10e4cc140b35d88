package dev.granary.s3.quarantine;

import dev.granary.cache.Sha256;
import dev.granary.cache.format.WriteAttemptId;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.layout.QuarantineLayout;
import dev.granary.s3.pack.manifest.AbsenceVerifier;
import dev.granary.s3.probe.Capabilities;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectMarks;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;

/**
 * The {@linkplain QuarantineReport reports} of a bucket: a small object for each content of an
 * entry that ended a process. An object changes by a conditional write on the version that was
 * read; without that capability by a plain one, and two writers may lose one of two reports.
 * Lookups never read reports. Thread-safe.
 */
public final class QuarantineReports {
    /**
     * The time for which a report counts, from its last change, by the server's clock. Later, the
     * next reporter begins anew.
     */
    public static final Duration TIME_TO_LIVE = Duration.ofDays(30);

    private static final int MAX_ROUNDS = 6;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final int MAX_LISTED = 10_000;

    private final ObjectStore store;
    private final QuarantineLayout layout;
    private final Capabilities capabilities;
    private final Ticker ticker;
    private final RandomGenerator random;

    public QuarantineReports(
            ObjectStore store,
            QuarantineLayout layout,
            Capabilities capabilities,
            Ticker ticker,
            RandomGenerator random) {
        this.store = store;
        this.layout = layout;
        this.capabilities = capabilities;
        this.ticker = ticker;
        this.random = random;
    }

    /** The outcome of a report. */
    public sealed interface Reported {
        /** The bucket has this report. */
        record Done(QuarantineReport report) implements Reported {}

        /** The bucket refuses the write. */
        record Refused(StoreFailure failure) implements Reported {}

        /** The bucket did not answer, or the report may or may not have been written. */
        record Failed(String cause) implements Reported {}
    }

    /** A report, and the time of its last change in milliseconds since 1970; 0 if unknown. */
    public record Listed(String namespace, QuarantineReport report, long changedMillis) {}

    /** The object of a report, as it was read. */
    private record Current(QuarantineReport report, Optional<String> etag) {}

    /** Reports that the restore of this content ended a process. */
    public Reported report(
            String namespace, Sha256 id, Sha256 content, QuarantineReporter reporter) {
        return change(namespace, id, content, report -> report.plus(reporter));
    }

    /** Withdraws the report of this content: it counts as never made. */
    public Reported withdraw(String namespace, Sha256 id, Sha256 content) {
        return change(namespace, id, content, _ -> QuarantineReport.none(id, content));
    }

    private Reported change(
            String namespace, Sha256 id, Sha256 content, UnaryOperator<QuarantineReport> changing) {
        String key = layout.report(namespace, id, content);
        String cause = "";
        for (int round = 1; round <= MAX_ROUNDS; round++) {
            boolean isFirst = round == 1;
            Current current;
            switch (store.get(key, QuarantineReport.MAX_BYTES)) {
                case GetResult.Found found -> {
                    Optional<QuarantineReport> known = report(found, id, content);
                    if (known.isEmpty()) {
                        return new Reported.Failed("a newer version of Granary wrote " + key);
                    }
                    current = new Current(known.get(), Optional.of(found.etag()));
                }
                case GetResult.Absent _ -> current = absent(id, content);
                case GetResult.TooLarge _ -> {
                    return new Reported.Failed("another object has the key " + key);
                }
                // Without the right to list, an absent object is forbidden. A creation shows it.
                case GetResult.Unavailable(StoreFailure failure)
                when AbsenceVerifier.isForbidden(failure) && isFirst ->
                    current = absent(id, content);
                case GetResult.Unavailable(StoreFailure failure) -> {
                    return new Reported.Failed("the report could not be read: " + failure);
                }
            }
            QuarantineReport next = changing.apply(current.report());
            if (next.equals(current.report())) {
                return new Reported.Done(next);
            }
            switch (write(key, current, next.encode())) {
                case WriteResult.Done _ -> {
                    return new Reported.Done(next);
                }
                case WriteResult.NotAllowed(StoreFailure failure) -> {
                    return new Reported.Refused(failure);
                }
                case WriteResult.NotSent(StoreFailure failure) -> {
                    return new Reported.Failed(failure.toString());
                }
                // the next round shows whether the object is this one
                case WriteResult.Unknown(StoreFailure failure) -> cause = failure.toString();
                case WriteResult.PreconditionFailed _, WriteResult.Conflict _ ->
                    cause = "other writers were faster";
            }
            ticker.pauseQuietly(FIRST_PAUSE.multipliedBy(round));
        }
        return new Reported.Failed("not written in " + MAX_ROUNDS + " attempts: " + cause);
    }

    private static Current absent(Sha256 id, Sha256 content) {
        return new Current(QuarantineReport.none(id, content), Optional.empty());
    }

    /**
     * Returns the report in an object: without reporters if the object is malformed, or too old;
     * empty if a newer version wrote it.
     */
    private static Optional<QuarantineReport> report(
            GetResult.Found found, Sha256 id, Sha256 content) {
        boolean isOld = found.dates()
                .age()
                .filter(age -> age.compareTo(TIME_TO_LIVE) > 0)
                .isPresent();
        return switch (QuarantineReport.parse(
                found.bytes().toArray(ValueLayout.JAVA_BYTE), id, content)) {
            case QuarantineReport.Parsed.Newer _ -> Optional.empty();
            case QuarantineReport.Parsed.Malformed _ ->
                Optional.of(QuarantineReport.none(id, content));
            case QuarantineReport.Parsed.Known(QuarantineReport report) ->
                Optional.of(isOld ? QuarantineReport.none(id, content) : report);
        };
    }

    private WriteResult write(String key, Current current, byte[] body) {
        ObjectMarks marks = new ObjectMarks(
                WriteAttemptId.random(random).hex(), Sha256.of(body).hex());
        return switch (capabilities.conditionalWrites()) {
            case FULL ->
                current.etag()
                        .map(etag -> store.replaceIfMatch(key, etag, body, marks))
                        .orElseGet(() -> store.putIfAbsent(key, body, marks));
            case CREATE_ONLY ->
                current.etag().isPresent()
                        ? store.put(key, body, marks)
                        : store.putIfAbsent(key, body, marks);
            case NONE -> store.put(key, body, marks);
        };
    }

    /**
     * Returns the reports of all targets, at most {@value #MAX_LISTED}; withdrawn and expired ones
     * are left out.
     *
     * @throws IOException if the bucket cannot be listed or read
     */
    public List<Listed> list() throws IOException {
        List<QuarantineLayout.Reported> keys = new ArrayList<>();
        if (store.list(layout.root(), object -> {
                    if (keys.size() < MAX_LISTED) {
                        layout.reported(object.key()).ifPresent(keys::add);
                    }
                })
                instanceof ListResult.Unavailable failed) {
            throw new IOException("the bucket cannot be listed: " + failed.failure());
        }
        List<Listed> all = new ArrayList<>();
        for (QuarantineLayout.Reported key : keys) {
            switch (store.get(
                    layout.report(key.namespace(), key.id(), key.content()),
                    QuarantineReport.MAX_BYTES)) {
                case GetResult.Found found ->
                    report(found, key.id(), key.content())
                            .filter(report -> !report.reporters().isEmpty())
                            .ifPresent(report -> all.add(new Listed(
                                    key.namespace(), report, found.dates().lastModifiedMillis())));
                case GetResult.Absent _, GetResult.TooLarge _ -> {}
                case GetResult.Unavailable(StoreFailure failure) ->
                    throw new IOException("a report cannot be read: " + failure);
            }
        }
        return all;
    }
}
