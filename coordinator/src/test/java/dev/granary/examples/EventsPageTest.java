package dev.granary.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.granary.coordinator.FakeBucket;
import dev.granary.coordinator.FakeDescriptor;
import dev.granary.coordinator.FakeEngine;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.TestNode;
import dev.granary.coordinator.event.GranaryEvent;

import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

/** Tests that the page of events quotes a program that runs, and lists all events. */
class EventsPageTest {
    private static final Path SOURCE =
            Path.of("src/test/java/dev/granary/examples/SlowCompileLog.java");
    private static final Path PAGE = Path.of("..", "docs", "operations.md");

    @Test
    @DisplayName("The quoted listener reports a bucket without an answer")
    void example(@TempDir Path home) throws Exception {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        FakeBucket bucket = new FakeBucket();
        bucket.behavior = FakeBucket.Behavior.IS_DOWN;
        TestNode node = new TestNode(home.resolve("local"), bucket);
        try (Granary granary = Granary.builder()
                .config(node.config().offline().flushLimit(TestNode.LONG).build())
                .layer("rack", bucket)
                .listener(new SlowCompileLog(lines::add))
                .open()) {
            granary.primitive(new FakeEngine("one"), FakeDescriptor.of("a"));
        }
        assertTrue(lines.contains("rack gave no answer: no route to host"), lines::toString);
    }

    @Test
    @DisplayName("docs/operations.md quotes the listener exactly")
    void quotes() throws Exception {
        assertTrue(
                Files.readString(PAGE).contains("```java\n" + Files.readString(SOURCE) + "```\n"));
    }

    @Test
    @DisplayName(
            "docs/operations.md has a row for each event of listeners and of the flight recorder,"
                    + " with all fields")
    void rows(@TempDir Path home) throws Exception {
        List<String> lines = Files.readAllLines(PAGE);
        for (Class<?> event : GranaryEvent.class.getPermittedSubclasses()) {
            String fields = String.join(
                    ", ",
                    Stream.of(event.getRecordComponents())
                            .map(component -> "`" + component.getName() + "`")
                            .toList());
            assertTrue(
                    lines.stream()
                            .anyMatch(line -> line.startsWith(
                                            "| `GranaryEvent." + event.getSimpleName() + "` |")
                                    && line.endsWith("| " + fields + " |")),
                    event + ": " + fields);
        }
        List<EventType> recorded;
        try (Recording recording = new Recording();
                Granary granary = new TestNode(home.resolve("local"), new FakeBucket()).open()) {
            recording.enable("granary.MemoryHit");
            recording.start();
            granary.primitive(new FakeEngine("one"), FakeDescriptor.of("b"));
            granary.primitive(new FakeEngine("one"), FakeDescriptor.of("b"));
            recorded = FlightRecorder.getFlightRecorder().getEventTypes().stream()
                    .filter(type -> type.getName().startsWith("granary."))
                    .toList();
        }
        assertTrue(recorded.size() >= 4, recorded::toString);
        for (EventType type : recorded) {
            assertEquals(List.of("Granary"), type.getCategoryNames());
            assertTrue(
                    lines.stream().anyMatch(line -> line.contains("`" + type.getName() + "`")),
                    type.getName());
        }
    }
}
