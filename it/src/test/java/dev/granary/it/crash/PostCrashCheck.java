package dev.granary.it.crash;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.it.crash.CrashFindings.Kind;
import dev.granary.local.DirectoryUsage;
import dev.granary.local.LocalDirectoryException;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Examination of the directory in a new process after the others were killed, before and after a
 * sweep.
 */
final class PostCrashCheck {
    private static final Duration UNTIL_ABANDONED = Duration.ofHours(2);

    private final LocalTierConfig config;
    private final LocalTier tier;
    private final CrashMode mode;
    private final Map<String, AcknowledgedWrites.Known> keys;
    private final CrashFindings finding = new CrashFindings();

    private PostCrashCheck(
            LocalTierConfig config,
            LocalTier tier,
            CrashMode mode,
            Map<String, AcknowledgedWrites.Known> keys) {
        this.config = config;
        this.tier = tier;
        this.mode = mode;
        this.keys = keys;
    }

    /**
     * Runs the examination. Reads lines of key, acknowledged and begun version, and prints the
     * findings as JSON.
     *
     * @param arguments directory, mode, and {@code last} or {@code more}
     */
    public static void main(String[] arguments) throws Exception {
        CrashMode mode = CrashMode.valueOf(arguments[1]);
        Map<String, AcknowledgedWrites.Known> keys = new TreeMap<>();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", 3);
                keys.put(
                        words[0],
                        new AcknowledgedWrites.Known(
                                Long.parseLong(words[1]), Long.parseLong(words[2])));
            }
        }
        LocalTierConfig config = config(Path.of(arguments[0]), mode, InstantSource.system());
        try (LocalTier tier = LocalTier.open(config)) {
            PostCrashCheck examination = new PostCrashCheck(config, tier, mode, keys);
            examination.run();
            if (arguments[2].equals("last")) {
                examination.empty();
            }
            System.out.println(examination.finding.json());
        }
    }

    private static LocalTierConfig config(Path directory, CrashMode mode, InstantSource clock) {
        return LocalTierConfig.builder(directory)
                .capacityBytes(mode.capacity())
                .clock(clock)
                .background(Runnable::run)
                .build();
    }

    private void run() throws IOException, LocalDirectoryException {
        if (tier.usage().diskBytes() > mode.capacityBeforeSweep()) {
            report(Kind.OVER_CAPACITY, 1, tier.usage() + " before the sweep");
        }
        Entry probe = SelfDescribingEntries.entry("probe-" + System.nanoTime(), 1);
        if (!(tier.store(probe) instanceof StoreResult.Stored)) {
            report(Kind.STUCK, 1, "the first store of a new process failed");
        }
        tier.discard(probe);
        count(); // first, since reading listed entries removes nothing
        lookupAll();
        sweep();
        lookupAll();
        count();
        leftOver();
    }

    /** Looks up every key. */
    private void lookupAll() {
        keys.forEach((key, known) -> {
            try (Arena memory = Arena.ofConfined()) {
                LoadResult result = tier.load(SelfDescribingEntries.id(key), memory);
                if (result instanceof LoadResult.Hit hit) {
                    checkVersion(key, known, SelfDescribingEntries.version(hit.entry()));
                } else if (known.acknowledged() > 0
                        && (mode == CrashMode.KEEP || !(result instanceof LoadResult.Absent))) {
                    report(Kind.LOST, 1, key + ", " + known + ": " + result);
                }
            }
        });
    }

    private void checkVersion(String key, AcknowledgedWrites.Known known, OptionalLong version) {
        if (version.isEmpty() || version.getAsLong() > known.begun()) {
            report(Kind.WRONG, 1, key + ", " + known + ": " + version);
        } else if (version.getAsLong() < known.acknowledged()) {
            report(Kind.LOST, 1, key + ", " + known + " is back at " + version);
        }
    }

    /** Compares the counts with the listing, and reads all listed entries. */
    private void count() throws IOException {
        List<EntryCatalog.Listed> all = new ArrayList<>();
        tier.list(all::add);
        DirectoryUsage usage = tier.usage();
        if (usage.entries() != all.size()
                || usage.entryBytes()
                        != all.stream().mapToLong(EntryCatalog.Listed::bytes).sum()) {
            report(Kind.DRIFT, 1, all.size() + " entries are listed, " + usage);
        }
        for (EntryCatalog.Listed listed : all) {
            try (Arena memory = Arena.ofConfined()) {
                LoadResult result = tier.read(listed, memory);
                if (result instanceof LoadResult.Hit hit) {
                    String key = hit.entry().id().fields().getLast().text();
                    checkVersion(
                            key,
                            new AcknowledgedWrites.Known(0, Long.MAX_VALUE),
                            SelfDescribingEntries.version(hit.entry()));
                } else {
                    report(Kind.DAMAGED, 1, listed + ": " + result);
                }
            }
        }
    }

    /** Forces a sweep; without evictions, one to a capacity that the entries just fill. */
    private void sweep() throws IOException {
        long capacity = mode == CrashMode.KEEP ? tier.usage().diskBytes() : mode.capacity();
        tier.setCapacity(capacity);
        if (!tier.enforceCapacity()) {
            report(Kind.STUCK, 1, "no sweep was possible");
        }
        if (tier.usage().diskBytes() > capacity) {
            report(Kind.OVER_CAPACITY, 1, tier.usage() + " after the sweep");
        }
        if (mode == CrashMode.KEEP && tier.evictions() != 0) {
            report(Kind.LOST, tier.evictions(), "evicted");
        }
        tier.setCapacity(mode.capacity());
    }

    /** Sweeps when no writer can be left, and checks that there are entries only. */
    private void leftOver() throws IOException, LocalDirectoryException {
        DirectoryUsage before = tier.usage();
        InstantSource later = () -> Instant.now().plus(UNTIL_ABANDONED);
        try (LocalTier laterTier = LocalTier.open(config(config.directory(), mode, later))) {
            laterTier.enforceCapacity();
        }
        DirectoryUsage usage = tier.usage();
        if (usage.entries() != before.entries()) {
            report(Kind.DRIFT, 1, usage + " after a late sweep, before: " + before);
        }
        requireFiles(usage.entries());
    }

    /** Clears the tier, and checks that nothing is left. */
    private void empty() throws IOException {
        tier.clear();
        requireFiles(0);
    }

    /** Checks that the directory has that many files, and the lock file of sweeps. */
    private void requireFiles(long expected) throws IOException {
        try (Stream<Path> files = Files.walk(config.directory()).filter(Files::isRegularFile)) {
            List<Path> left = files.filter(file -> !file.endsWith("sweep")).toList();
            if (left.size() != expected) {
                report(
                        Kind.LEFT_OVER,
                        1,
                        left.size() + " files instead of " + expected + ": " + tier.usage());
            }
        }
    }

    private void report(Kind kind, long count, String detail) {
        finding.add(kind, count);
        if (finding.count(kind) <= 5) {
            System.err.println(mode + ": " + kind.text() + ": " + detail);
        }
    }
}
