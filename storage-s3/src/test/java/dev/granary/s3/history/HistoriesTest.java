package dev.granary.s3.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.granary.cache.support.FileTrees;
import dev.granary.testing.TestRuns;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Tests that acknowledged entries are readable in random histories. With
 * {@code -Dgranary.histories.continue=true} a failing history does not end the run, and a table
 * counts the failures by shape.
 */
class HistoriesTest {
    private static final int SHOWN = 6;

    private static final boolean CONTINUES = Boolean.getBoolean("granary.histories.continue");

    /** A failed history and its length. */
    private record Failed(int number, int events) {}

    @TempDir
    private Path directory;

    @Test
    @DisplayName("random histories of a fleet: an acknowledged entry is found until"
            + " it is legitimately removed")
    void histories() {
        long start = System.nanoTime();
        Map<Shape, List<Failed>> found = new EnumMap<>(Shape.class);
        int[] numbers = TestRuns.numbers(40).toArray();
        for (int number : numbers) {
            History history = history(number, TestRuns.isReplay());
            try {
                history.run();
                if (TestRuns.isReplay()) {
                    System.out.println(history.text());
                }
            } catch (Violation e) {
                if (!CONTINUES) {
                    throw new AssertionError(replayTrace(number, e), e);
                }
                found.computeIfAbsent(e.shape(), _ -> new ArrayList<>())
                        .add(new Failed(number, history.events()));
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("history " + number + ", " + TestRuns.replay(number), e);
            } finally {
                delete(directory.resolve(Integer.toString(number)));
            }
        }
        System.out.println("granary.histories: " + numbers.length + " histories in "
                + (System.nanoTime() - start) / 1_000_000 + " ms, seed " + TestSeed.VALUE);
        found.forEach(HistoriesTest::print);
    }

    /** Prints the shortest histories, which are the easiest to read. */
    private static void print(Shape shape, List<Failed> failed) {
        List<Failed> shortest = failed.stream()
                .sorted(Comparator.comparingInt(Failed::events))
                .limit(SHOWN)
                .toList();
        System.out.printf(
                "%-32s %6d times; the shortest has %d events; histories %s%n",
                shape,
                failed.size(),
                shortest.getFirst().events(),
                shortest.stream().map(Failed::number).toList());
    }

    private History history(int number, boolean isTraced) {
        return new History(number, directory.resolve(Integer.toString(number)), isTraced);
    }

    /** Runs the history again for its trace; it must end in the same way. */
    private String replayTrace(int number, Violation first) {
        History again = history(number, true);
        delete(directory.resolve(Integer.toString(number)));
        String same = "the same history again did not fail";
        try {
            again.run();
        } catch (Violation e) {
            same = String.valueOf(e.getMessage());
        }
        return again.text() + "\nhistory " + number + ", " + TestRuns.replay(number) + "\n"
                + first.getMessage()
                + (same.equals(first.getMessage()) ? "" : "\nNOT THE SAME AGAIN: " + same);
    }

    @Test
    @DisplayName("a history is repeatable")
    void deterministic() {
        for (int number : List.of(1, 2, 3, 4)) {
            assertEquals(
                    run(number),
                    run(number),
                    () -> "history " + number + ", " + TestRuns.replay(number));
        }
    }

    private String run(int number) {
        Path own = directory.resolve(Integer.toString(number));
        History history = history(number, true);
        Optional<Violation> violation = Optional.empty();
        try {
            history.run();
        } catch (Violation e) {
            violation = Optional.of(e);
        } finally {
            delete(own);
        }
        return history.text() + violation.map(Violation::getMessage).orElse("");
    }

    private static void delete(Path root) {
        try {
            FileTrees.delete(root);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
