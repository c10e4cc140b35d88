package dev.granary.coordinator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.s3.BucketTier;
import dev.granary.s3.UseNotes.UseNote;
import dev.granary.testing.ChildJvm;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;

/** Tests of the notes of use of a machine with several processes. */
class UseNotesProcessTest {
    private static final LocalDate EVER = LocalDate.parse("2020-01-01");

    private static List<UseNote> notes(TestFleet fleet) throws Exception {
        List<UseNote> notes = new ArrayList<>();
        try (BucketTier bucket = fleet.bucket()) {
            bucket.useNotes().read(EVER, LocalDate.now(ZoneOffset.UTC).plusDays(2), notes::add);
        }
        return notes;
    }

    private static long sent(TestFleet fleet) {
        return fleet.proxy.exchanges().stream()
                .filter(each -> each.request().operation().equals("PUT")
                        && each.request().key().startsWith("ci/use/"))
                .count();
    }

    @Test
    @Tag("exhaustive") // by default UseLogTest
    @DisplayName("of two processes of a machine that end together one sends a note; the ids of"
            + " all, also of one that exits without a close, are in the next one")
    void oneNote(@TempDir Path directory) throws Exception {
        try (TestFleet fleet = new TestFleet(directory)) {
            Path local = directory.resolve("machine");
            ChildJvm jvm = ChildJvm.of(UseNotesProcess.class)
                    .shortLived()
                    .variables(Map.of(
                            "AWS_ACCESS_KEY_ID", System.getProperty("aws.accessKeyId"),
                            "AWS_SECRET_ACCESS_KEY", System.getProperty("aws.secretAccessKey")));
            ChildJvm.Result exited =
                    jvm.run(local.toString(), fleet.endpoint(), "kernel 0", "false");
            assertEquals(0, exited.exitCode(), exited::toString);
            assertEquals(0, sent(fleet));

            List<ChildJvm.Recording> processes = new ArrayList<>();
            for (int i = 1; i <= 2; i++) {
                processes.add(
                        jvm.record(local.toString(), fleet.endpoint(), "kernel " + i, "true"));
            }
            for (ChildJvm.Recording process : processes) {
                process.process().getOutputStream().close();
            }
            for (ChildJvm.Recording process : processes) {
                ChildJvm.Result ended = process.end();
                assertEquals(0, ended.exitCode(), ended::toString);
            }
            assertEquals(1, sent(fleet));

            GranaryConfig config =
                    fleet.config("machine", TestFleet.BUCKET + "?access=read").build();
            Instant later = Instant.now().plus(Duration.ofHours(1));
            try (Granary granary = Granary.builder()
                    .config(config)
                    .over(layer -> TierFactory.open(layer, Optional.empty()), () -> later)
                    .open()) {
                granary.connect();
                granary.primitive(fleet.engine, FakeDescriptor.of("kernel 1"));
            }
            assertEquals(2, sent(fleet));
            UseNote last = notes(fleet).stream()
                    .max(Comparator.comparing(UseNote::day))
                    .orElseThrow();
            assertArrayEquals(
                    LongStream.range(0, 3)
                            .map(i -> FakeDescriptor.of("kernel " + i)
                                    .getId()
                                    .hash()
                                    .prefix())
                            .sorted()
                            .toArray(),
                    last.ids().get(TestFleet.NAMESPACE));
        }
    }
}
