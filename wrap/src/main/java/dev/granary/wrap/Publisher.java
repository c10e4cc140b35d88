package dev.granary.wrap;

import dev.granary.cache.CompileException;
import dev.granary.cache.Deadline;
import dev.granary.cache.Id;
import dev.granary.cache.StoreResult;
import dev.granary.cache.support.DaemonThreads;
import dev.granary.coordinator.Granary;
import dev.granary.coordinator.config.BucketConfig;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.statistics.PrimitiveSource;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.local.SharedDirectory;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Publisher of files that a program has added: in the local tier, and in packs in the first
 * writable layer. What one process leaves is uploaded by the next.
 */
final class Publisher implements AutoCloseable {
    /** The largest numbers of entries and bytes that wait in memory. */
    private static final int MAX_WAITING = 1_000;

    private static final long MAX_WAITING_BYTES = 32 << 20;

    private final GranaryConfig config;
    private final Map<Id, StoreResult> results = new ConcurrentHashMap<>();
    private @Nullable Granary granary; // opened when it is needed

    Publisher(GranaryConfig config) {
        this.config = config;
    }

    /**
     * Publishes what a tool has added since the last call, and waits for at most {@code limit}, and
     * for the last uploads no longer than the configured limit.
     *
     * @param isEnded whether the program has ended by itself
     */
    void publish(ToolRun run, boolean isEnded, Duration limit) throws IOException, ConfigException {
        List<FileEngine.Source> additions = run.additions(isEnded);
        if (additions.isEmpty()) {
            return;
        }
        Granary open = open();
        FileEngine engine = new FileEngine(run.target());
        Deadline deadline = Deadline.after(limit);
        boolean isInTime = true;
        int waiting = 0;
        long waitingBytes = 0;
        for (FileEngine.Source source : additions) {
            waitingBytes += source.bytes();
            if (++waiting > MAX_WAITING || waitingBytes > MAX_WAITING_BYTES) {
                isInTime = config.capacityBytes() == 0 // only memory keeps them for the upload
                        ? open.flush(left(deadline))
                        : open.flushLocal(left(deadline));
                waiting = 1;
                waitingBytes = source.bytes();
            }
            if (!isInTime) {
                run.skip("not published within the wait; --wait sets it", 1);
                continue;
            }
            try {
                if (open.lookup(engine, source).source() != PrimitiveSource.COMPILED) {
                    open.publish(source.getId()); // the local tier has it, perhaps no layer
                }
            } catch (CompileException e) {
                run.skip(e.buildLog(), 1);
            }
        }
        open.flush(Collections.min(List.of(left(deadline), config.flushLimit())));
    }

    private static Duration left(Deadline deadline) {
        return Duration.ofNanos(deadline.left());
    }

    /**
     * Tells all layers which of the fetched files the program has used, and waits for at most
     * {@code limit}: a shared directory may be on a file server that does not answer.
     */
    void noteUses(List<Id> used, Duration limit) throws ConfigException {
        if (used.isEmpty()) {
            return;
        }
        used.forEach(open()::noteUse);
        Thread notes = DaemonThreads.named("granary-notes").newThread(() -> {
            for (BucketConfig layer : config.buckets()) {
                if (layer instanceof BucketConfig.Directory shared) { // has no notes
                    try (SharedDirectory directory = TierFactory.shared(shared)) {
                        used.forEach(directory::noteUse);
                    }
                }
            }
        });
        notes.start();
        try {
            notes.join(limit);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Granary open() throws ConfigException {
        if (granary == null) {
            granary = Granary.builder()
                    .config(config)
                    .inPacks()
                    .withoutReading()
                    .published((layer, id, result) -> {
                        // without a writable layer the local tier alone has the files
                        if (!layer.equals(Tiers.LOCAL) || !failure(result).isEmpty()) {
                            results.put(id, result);
                        }
                    })
                    .open();
        }
        return granary;
    }

    /** Returns the ids that the target has. */
    Set<Id> published() {
        return results.entrySet().stream()
                .filter(each -> failure(each.getValue()).isEmpty())
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
    }

    /** Returns the causes for which files were not published, by the path of one of them. */
    SortedMap<String, String> failures() {
        SortedMap<String, String> failures = new TreeMap<>();
        results.forEach((id, result) -> {
            String cause = failure(result);
            if (!cause.isEmpty()) {
                failures.put(cause, FileGroup.path(id));
            }
        });
        SortedMap<String, String> byPath = new TreeMap<>();
        failures.forEach((cause, path) -> byPath.put(path, "not published: " + cause));
        return byPath;
    }

    private static String failure(StoreResult result) {
        return switch (result) {
            case StoreResult.Refused refused -> refused.reason();
            case StoreResult.Failed failed -> failed.cause();
            case StoreResult.Unknown unknown -> unknown.cause();
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ -> "";
        };
    }

    @Override
    public void close() {
        if (granary != null) {
            granary.close();
        }
    }
}
