package dev.granary.coordinator.lookup;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Target;
import dev.granary.cache.support.LogOnce;
import dev.granary.coordinator.publish.ProducerName;
import dev.granary.coordinator.session.RestoreQuarantine;
import dev.granary.coordinator.toml.SafeText;
import dev.granary.gpu.spirv.IntermediateDescriptor;
import dev.granary.gpu.trial.RestoreTrial;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Trials of entries from unknown producers, each once for a machine: the first restore happens in a
 * process of its own. An entry on which that process dies is put into quarantine. A producer is
 * known if the entry names this host; the name is a statement of the writer. Thread-safe.
 */
public final class RestoreTrials {
    /** The reason why intermediate programs of unknown producers are not used. */
    public static final String NOT_FOR_INTERMEDIATE =
            "no trial tells whether a driver survives an intermediate program";

    private static final Duration LIMIT = Duration.ofMinutes(1);

    private final Optional<RestoreQuarantine> quarantine;

    /**
     * Creates trials.
     *
     * @param quarantine records outcomes; empty: each process of the machine tries an entry again
     */
    public RestoreTrials(Optional<RestoreQuarantine> quarantine) {
        this.quarantine = quarantine;
    }

    /**
     * Tries an entry for a target, unless its producer is known or this machine has tried it.
     *
     * @return the cause for which the entry must not be restored in this process, in one line;
     *     empty if it may
     */
    Optional<String> problem(Entry entry, Target target) {
        Optional<EntryMetadata> metadata = entry.metadata();
        if (metadata.filter(known -> ProducerName.isOfThisHost(known.producer()))
                        .isPresent()
                || hasPassed(entry)) {
            return Optional.empty();
        }
        if (IntermediateDescriptor.isIntermediate(entry.id())) {
            return Optional.of(NOT_FOR_INTERMEDIATE);
        }
        List<String> kernels = metadata.map(EntryMetadata::kernels).orElse(List.of());
        RestoreTrial.Outcome outcome;
        try {
            outcome = RestoreTrial.run(target, kernels, entry.binaries(), LIMIT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.of("the trial of its restore was interrupted");
        }
        return switch (outcome) {
            case RestoreTrial.Outcome.Survived _ -> {
                record(entry, true);
                yield Optional.empty();
            }
            case RestoreTrial.Outcome.Died(String cause) -> {
                record(entry, false);
                yield warned("a process died in the trial of its restore: ", cause);
            }
            case RestoreTrial.Outcome.Impossible(String cause) ->
                warned("its restore could not be tried: ", cause);
        };
    }

    private static Optional<String> warned(String what, String cause) {
        String text = what + SafeText.inOneLine(cause);
        LogOnce.warn("trial", "A stored entry is not used, and compiled again: " + text);
        return Optional.of(text);
    }

    private boolean hasPassed(Entry entry) {
        try {
            return quarantine.isPresent() && quarantine.get().hasPassed(entry);
        } catch (IOException e) {
            LogOnce.warn("trial", "The trials of restores cannot be read: " + e);
            return false;
        }
    }

    private void record(Entry entry, boolean isPassed) {
        if (quarantine.isEmpty()) {
            return;
        }
        try {
            if (isPassed) {
                quarantine.get().addPassed(entry);
            } else {
                quarantine.get().add(entry);
            }
        } catch (IOException e) {
            LogOnce.warn("trial", "A trial of a restore cannot be recorded: " + e);
        }
    }
}
