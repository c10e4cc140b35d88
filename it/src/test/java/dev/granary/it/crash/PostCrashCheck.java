package dev.granary.it.crash;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.it.crash.CrashFindings.Kind;
import dev.granary.local.DirectoryUsage;
import dev.granary.local.LocalTier;
import dev.granary.local.config.LocalTierConfig;
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

/** Runs in a new process after the others were killed: looks for all that they may have broken, before a sweep and after it. */
final class PostCrashCheck {
    private static final int UNIT = 64; // what entries are rounded up to
    private static final long STATE_BYTES = 4096;
    private static final long UNCOUNTED_BYTES = 1 << 20; // what a file system adds to what we count
    private static final int FILES_WHEN_EMPTY = 3; // state, index, a segment that was begun

    private final LocalTier tier;
    private final CrashMode mode;
    private final Map<String, AcknowledgedWrites.Known> keys;
    private final CrashFindings finding = new CrashFindings();

    private PostCrashCheck(LocalTier tier, CrashMode mode, Map<String, AcknowledgedWrites.Known> keys) {
        this.tier = tier;
        this.mode = mode;
        this.keys = keys;
    }

    /** Arguments: directory, mode, {@code last} or {@code more}. Reads lines of key, acknowledged and begun version; writes the finding as JSON. */
    public static void main(String[] arguments) throws Exception {
        CrashMode mode = CrashMode.valueOf(arguments[1]);
        Map<String, AcknowledgedWrites.Known> keys = new TreeMap<>();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", 3);
                keys.put(words[0], new AcknowledgedWrites.Known(Long.parseLong(words[1]), Long.parseLong(words[2])));
            }
        }
        LocalTierConfig config = LocalTierConfig.builder(Path.of(arguments[0])).capacityBytes(mode.capacity()).background(Runnable::run).build();
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
            found(Kind.STUCK, 1, "the first store of a new process failed");
        }
        tier.discard(probe);
        count(); // first: reading what is listed takes nothing away
        look();
        sweep();
        look();
        count();
        leftOver();
    }

    /** Looks every key up. */
    private void look() {
        keys.forEach((key, known) -> {
            try (Arena memory = Arena.ofConfined()) {
                LoadResult result = tier.load(SelfDescribingEntries.id(key), memory);
                if (result instanceof LoadResult.Hit hit) {
                    judge(key, known, SelfDescribingEntries.version(hit.entry()));
                } else if (known.acknowledged() > 0 && (mode == CrashMode.KEEP || !(result instanceof LoadResult.Absent))) {
                    found(Kind.LOST, 1, key + ", " + known + ": " + result);
                }
            }
        });
    }

    private void judge(String key, AcknowledgedWrites.Known known, OptionalLong version) {
        if (version.isEmpty() || version.getAsLong() > known.begun()) {
            found(Kind.WRONG, 1, key + ", " + known + ": " + version);
        } else if (version.getAsLong() < known.acknowledged()) {
            found(Kind.LOST, 1, key + ", " + known + " is back at " + version);
        }
    }

    /** Compares the counts with what is listed, and reads that. */
    private void count() throws IOException {
        List<EntryCatalog.Listed> all = new ArrayList<>();
        tier.list(all::add);
        long bytes = all.stream().mapToLong(listed -> (listed.bytes() + UNIT - 1) / UNIT * UNIT).sum();
        if (bytes != tier.usedBytes()) {
            found(Kind.DRIFT, 1, bytes + " bytes are listed, " + tier.usedBytes() + " counted");
        }
        DirectoryUsage usage = tier.usage();
        if (usage.entries() != all.size() || usage.entryBytes() != bytes) {
            found(Kind.DRIFT, 1, all.size() + " entries are listed, " + usage);
        }
        Set<Object> names = new HashSet<>();
        for (EntryCatalog.Listed listed : all) {
            try (Arena memory = Arena.ofConfined()) {
                LoadResult result = tier.read(listed, memory);
                if (result instanceof LoadResult.Hit hit) {
                    String key = hit.entry().id().fields().getLast().text();
                    judge(key, new AcknowledgedWrites.Known(0, Long.MAX_VALUE), SelfDescribingEntries.version(hit.entry()));
                } else {
                    found(Kind.DAMAGED, 1, listed + ": " + result);
                }
            }
            if (!names.add(listed.hash())) {
                found(Kind.DOUBLE, 1, listed.toString());
            }
        }
    }

    /** Has room given back, where nothing is to be evicted by asking for less than there is and enough for all that lives. */
    private void sweep() throws IOException {
        long capacity = mode == CrashMode.KEEP ? tier.usedBytes() / 4 * 5 + (2 << 20) : mode.capacity();
        tier.setCapacity(capacity);
        if (tier.diskBytes() > capacity || tier.usedBytes() > capacity) {
            found(Kind.OVER_CAPACITY, 1, tier.diskBytes() + " bytes on the disk, " + tier.usedBytes() + " used of " + capacity);
        }
        if (mode == CrashMode.KEEP && tier.statistics().evictions() != 0) {
            found(Kind.LOST, tier.statistics().evictions(), "evicted");
        }
        tier.setCapacity(mode.capacity());
    }

    private void leftOver() throws IOException {
        DirectoryUsage usage = tier.usage();
        long index = usage.overheadBytes() - STATE_BYTES;
        if (!usage.foreign().isEmpty() || index != Long.highestOneBit(index)) {
            found(Kind.LEFT_OVER, 1, usage.toString());
        }
        long disk = diskUsage();
        if (disk > tier.diskBytes() + usage.overheadBytes() + UNCOUNTED_BYTES) {
            found(Kind.LEFT_OVER, 1, disk + " bytes on the disk, " + tier.diskBytes() + " counted");
        }
    }

    /** What the directory takes by the word of the file system, which alone knows of holes. */
    private long diskUsage() throws IOException {
        Process process = new ProcessBuilder("du", "-sB1", tier.directory().toString()).redirectErrorStream(true).start();
        try (BufferedReader out = process.inputReader(UTF_8)) {
            return Long.parseLong(String.valueOf(out.readLine()).split("\\s")[0]);
        }
    }

    /** Removes everything: then nothing may be left. */
    private void empty() throws IOException {
        tier.clear();
        count();
        if (tier.usedBytes() != 0 || tier.usage().entries() != 0) {
            found(Kind.DRIFT, 1, "after everything was removed: " + tier.usage());
        }
        try (Stream<Path> files = Files.walk(tier.directory()).filter(Files::isRegularFile)) {
            List<Path> left = files.toList();
            if (left.size() > FILES_WHEN_EMPTY) {
                found(Kind.LEFT_OVER, left.size() - FILES_WHEN_EMPTY, "after everything was removed: " + left);
            }
        }
    }

    private void found(Kind kind, long count, String what) {
        finding.add(kind, count);
        if (finding.count(kind) <= 5) {
            System.err.println(mode + ": " + kind.text() + ": " + what);
        }
    }
}
