package dev.granary.it.crash;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.it.crash.CrashFindings.Kind;
import dev.granary.local.DirectoryUsage;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Examination of the directory in a new process after the others were killed, before and after a
 * sweep.
 */
final class PostCrashCheck {
    private static final int UNIT = 64; // sizes of entries are rounded up to this
    private static final long STATE_BYTES = 4096;
    private static final long UNCOUNTED_BYTES = 1 << 20; // overhead of the file system
    private static final int FILES_WHEN_EMPTY = 3; // state, index, a new segment

    private final LocalTier tier;
    private final CrashMode mode;
    private final Map<String, AcknowledgedWrites.Known> keys;
    private final CrashFindings finding = new CrashFindings();

    private PostCrashCheck(
            LocalTier tier, CrashMode mode, Map<String, AcknowledgedWrites.Known> keys) {
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
        LocalTierConfig config = LocalTierConfig.builder(Path.of(arguments[0]))
                .capacityBytes(mode.capacity())
                .background(Runnable::run)
                .build();
        try (LocalTier tier = LocalTier.open(config)) {
            PostCrashCheck examination = new PostCrashCheck(tier, mode, keys);
            examination.run();
            if (arguments[2].equals("last")) {
                examination.empty();
            }
            System.out.println(examination.finding.json());
        }
    }

    private void run() throws IOException {
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
        long bytes = all.stream()
                .mapToLong(listed -> (listed.bytes() + UNIT - 1) / UNIT * UNIT)
                .sum();
        if (bytes != tier.usedBytes()) {
            report(Kind.DRIFT, 1, bytes + " bytes are listed, " + tier.usedBytes() + " counted");
        }
        DirectoryUsage usage = tier.usage();
        if (usage.entries() != all.size() || usage.entryBytes() != bytes) {
            report(Kind.DRIFT, 1, all.size() + " entries are listed, " + usage);
        }
        Set<Object> hashes = new HashSet<>();
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
            if (!hashes.add(listed.hash())) {
                report(Kind.DOUBLE, 1, listed.toString());
            }
        }
    }

    /**
     * Forces a sweep. Without evictions, the capacity is below the disk usage, but above the live
     * entries.
     */
    private void sweep() throws IOException {
        long capacity =
                mode == CrashMode.KEEP ? tier.usedBytes() / 4 * 5 + (2 << 20) : mode.capacity();
        tier.setCapacity(capacity);
        if (tier.diskBytes() > capacity || tier.usedBytes() > capacity) {
            report(
                    Kind.OVER_CAPACITY,
                    1,
                    tier.diskBytes() + " bytes on the disk, " + tier.usedBytes() + " used of "
                            + capacity);
        }
        if (mode == CrashMode.KEEP && tier.statistics().evictions() != 0) {
            report(Kind.LOST, tier.statistics().evictions(), "evicted");
        }
        tier.setCapacity(mode.capacity());
    }

    private void leftOver() throws IOException {
        DirectoryUsage usage = tier.usage();
        long index = usage.overheadBytes() - STATE_BYTES;
        if (!usage.foreign().isEmpty() || index != Long.highestOneBit(index)) {
            report(Kind.LEFT_OVER, 1, usage.toString());
        }
        long disk = diskUsage();
        if (disk > tier.diskBytes() + usage.overheadBytes() + UNCOUNTED_BYTES) {
            report(
                    Kind.LEFT_OVER,
                    1,
                    disk + " bytes on the disk, " + tier.diskBytes() + " counted");
        }
    }

    /** Returns the disk usage of the directory as the file system reports it, without holes. */
    private long diskUsage() throws IOException {
        Process process = new ProcessBuilder("du", "-sB1", tier.directory().toString())
                .redirectErrorStream(true)
                .start();
        try (BufferedReader out = process.inputReader(UTF_8)) {
            return Long.parseLong(String.valueOf(out.readLine()).split("\\s")[0]);
        }
    }

    /** Clears the tier, and checks that nothing is left. */
    private void empty() throws IOException {
        tier.clear();
        count();
        if (tier.usedBytes() != 0 || tier.usage().entries() != 0) {
            report(Kind.DRIFT, 1, "after everything was removed: " + tier.usage());
        }
        try (Stream<Path> files = Files.walk(tier.directory()).filter(Files::isRegularFile)) {
            List<Path> left = files.toList();
            if (left.size() > FILES_WHEN_EMPTY) {
                report(
                        Kind.LEFT_OVER,
                        left.size() - FILES_WHEN_EMPTY,
                        "after everything was removed: " + left);
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
