package dev.granary.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

import java.util.List;

/** Tests of classes whose preparation is skipped. */
class SkippedPreparationTest {
    /** A class of two tests whose preparation is skipped; only the test below runs it. */
    static class Unprepared {
        @BeforeAll
        static void prepare() {
            Assumptions.abort("no device");
        }

        @BeforeEach
        void before() {
            throw new AssertionError("a method of the class runs");
        }

        @Test
        void first() {}

        @Test
        void second() {}
    }

    @Test
    @DisplayName("each test of a class whose preparation is skipped is skipped, with its reason")
    void reported() {
        Events events = EngineTestKit.engine("junit-jupiter")
                .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true")
                .selectors(selectClass(Unprepared.class))
                .execute()
                .testEvents();
        assertEquals(2, events.aborted().count());
        assertEquals(2, events.finished().count());
        assertEquals(
                List.of("no device", "no device"),
                events.aborted()
                        .map(event -> event.getRequiredPayload(TestExecutionResult.class))
                        .map(result -> result.getThrowable().orElseThrow().getMessage())
                        .toList());
    }
}
