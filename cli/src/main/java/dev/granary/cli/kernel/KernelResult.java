package dev.granary.cli.kernel;

import dev.granary.cache.Id;
import dev.granary.cache.Target;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The result of a command for one kernel.
 *
 * @param id its id; empty if it was not obtained
 * @param layer the position of its bucket if it came from one
 * @param from the target of its entry if that is of another namespace
 * @param waited the wait for the compile of another process or machine; zero if it did not wait
 * @param failure what went wrong, in one line; empty if nothing did
 */
record KernelResult(
        String name,
        Target target,
        Outcome outcome,
        Optional<Id> id,
        OptionalInt layer,
        Optional<Target> from,
        Duration took,
        Duration waited,
        long bytes,
        String failure,
        Optional<BuildLog> log) {
    /** Returns this result with another outcome, that of publishing. */
    KernelResult failed(Outcome later, String cause) {
        return new KernelResult(
                name, target, later, id, layer, from, took, waited, bytes, cause, Optional.empty());
    }

    /** Returns the id of the entry; empty if the kernel has none. */
    Optional<Id> entry() {
        return id.filter(each -> !each.isEmpty());
    }

    /** Returns the failure with the lines of its log. */
    String text(int logLines) {
        List<String> lines = new ArrayList<>(List.of(failure));
        log.ifPresent(all -> lines.addAll(all.lines(logLines)));
        return String.join(System.lineSeparator(), lines);
    }
}
