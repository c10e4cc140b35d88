package dev.granary.cli.kernel;

import dev.granary.cache.support.Ticker;
import dev.granary.cli.output.Units;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The periodic work of {@code populate} while kernels are compiled. It logs the progress and each
 * failure, for outputs that are no terminal. It publishes the compiled kernels, so that a killed
 * command loses little. Not thread-safe.
 */
final class Pulse implements Consumer<Optional<KernelResult>> {
    static final Duration LOG_INTERVAL = Duration.ofSeconds(30);
    static final Duration PUBLISH_INTERVAL = Duration.ofMinutes(2);

    private final int total;
    private final Ticker ticker;
    private final Consumer<String> log;
    private final Runnable publish;
    private long logged;
    private long published;
    private int done;
    private int failed;
    private int unpublished; // obtained since the last time

    /**
     * Creates a pulse.
     *
     * @param log receives lines; a terminal shows the progress without
     */
    Pulse(int total, Ticker ticker, Consumer<String> log, Runnable publish) {
        this.total = total;
        this.ticker = ticker;
        this.log = log;
        this.publish = publish;
        this.logged = ticker.nanos();
        this.published = ticker.nanos();
    }

    /** Takes the result of a kernel, or none if time has passed without one. */
    @Override
    public void accept(Optional<KernelResult> result) {
        if (result.isPresent()) {
            done++;
            if (result.get().outcome().isSuccess()) {
                unpublished++;
            } else {
                failed++;
                log.accept(result.get().name() + " for " + result.get().target().path() + ": "
                        + result.get().outcome() + ": " + result.get().failure());
            }
        }
        if (ticker.nanos() - logged >= LOG_INTERVAL.toNanos()) {
            logged = ticker.nanos();
            log.accept("populating: " + Units.count(done) + " of " + Units.plural(total, "kernel")
                    + ", " + Units.count(failed) + " failed");
        }
        if (unpublished > 0 && ticker.nanos() - published >= PUBLISH_INTERVAL.toNanos()) {
            publish.run();
            unpublished = 0;
            published = ticker.nanos();
        }
    }
}
