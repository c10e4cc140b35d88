package dev.granary.it.crash;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.local.EntryFiles;
import dev.granary.local.LocalTier;
import dev.granary.local.LocalTierConfig;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;

/**
 * A process that will be killed. It uses the tier without end, and prints each store that it
 * begins, each acknowledgement, and each wrong read. Each line is a single write, so a killed
 * process leaves no partial line.
 */
final class CrashChildProcess {
    private static final int MAX_WRITERS = 4;
    private static final int CLEARING_ODDS = 200;

    private final LocalTier tier;
    private final CrashMode mode;
    private final int seat;
    private final SplittableRandom random;
    private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
    private long version;
    private long evictions;

    /** The role of a process. */
    enum Role {
        /** Stores entries, and reads some of them again. */
        WRITER,
        /** Looks up, lists, and reads listed entries. */
        READER,
        /** Clears, removes, changes the capacity, and measures the usage. */
        UPSETTER
    }

    private CrashChildProcess(LocalTier tier, CrashMode mode, int seat, long seed, long version) {
        this.tier = tier;
        this.mode = mode;
        this.seat = seat;
        this.random = new SplittableRandom(seed);
        this.version = version;
    }

    /** Arguments: directory, mode, role, seat, seed, first version to store. */
    public static void main(String[] arguments) throws Exception {
        CrashMode mode = CrashMode.valueOf(arguments[1]);
        Role role = Role.valueOf(arguments[2]);
        LocalTier tier = LocalTier.open(LocalTierConfig.builder(Path.of(arguments[0]))
                .capacityBytes(mode.capacity())
                .build());
        CrashChildProcess child = new CrashChildProcess(
                tier,
                mode,
                Integer.parseInt(arguments[3]),
                Long.parseLong(arguments[4]),
                Long.parseLong(arguments[5]));
        child.act(role); // the first one is slow in a new JVM
        child.report(AcknowledgedWrites.READY);
        while (true) {
            child.act(role);
        }
    }

    private void act(Role role) throws IOException {
        switch (role) {
            case WRITER -> {
                write();
                reportEvictions();
            }
            case READER -> read();
            case UPSETTER -> disturb();
        }
    }

    private void write() throws IOException {
        if (random.nextInt(8) == 0) {
            store(
                    SelfDescribingEntries.sharedKey(
                            random.nextInt(SelfDescribingEntries.SHARED_KEYS)),
                    SelfDescribingEntries.SHARED_VERSION);
            return;
        }
        String key = SelfDescribingEntries.key(seat, random.nextInt(SelfDescribingEntries.KEYS));
        long stored = version++;
        if (store(key, stored) && random.nextInt(4) == 0) {
            check(key, tier.load(SelfDescribingEntries.id(key)), stored);
        }
    }

    private boolean store(String key, long stored) throws IOException {
        report(AcknowledgedWrites.BEGUN, key, stored);
        switch (tier.store(SelfDescribingEntries.entry(key, stored))) {
            case StoreResult.Stored _, StoreResult.Duplicate _ -> {
                report(AcknowledgedWrites.ACKNOWLEDGED, key, stored);
                return true;
            }
            case StoreResult.Failed failed ->
                report(AcknowledgedWrites.FAILED, key, failed.cause());
            case StoreResult other -> report(AcknowledgedWrites.FAILED, key, other);
        }
        return false;
    }

    private void read() throws IOException {
        if (random.nextInt(500) == 0) {
            readListed();
            return;
        }
        String key = random.nextInt(4) == 0
                ? SelfDescribingEntries.sharedKey(random.nextInt(SelfDescribingEntries.SHARED_KEYS))
                : SelfDescribingEntries.key(
                        random.nextInt(MAX_WRITERS), random.nextInt(SelfDescribingEntries.KEYS));
        check(key, tier.load(SelfDescribingEntries.id(key)), -1);
    }

    private void readListed() throws IOException {
        for (EntryCatalog.Listed listed : listed()) {
            if (tier.read(listed) instanceof LoadResult.Hit hit) {
                check("listed", hit, -1);
            }
        }
    }

    private List<EntryCatalog.Listed> listed() throws IOException {
        List<EntryCatalog.Listed> listed = new ArrayList<>();
        tier.list(listed::add);
        return listed;
    }

    /** Checks a result; {@code stored} is the version that must be there, -1 for any or none. */
    private void check(String key, LoadResult result, long stored) throws IOException {
        switch (result) {
            case LoadResult.Hit hit -> {
                OptionalLong read = SelfDescribingEntries.version(hit.entry());
                boolean isRight = read.isPresent()
                        && (key.equals("listed")
                                || hit.entry().id().equals(SelfDescribingEntries.id(key)))
                        && (stored < 0 || read.getAsLong() == stored);
                report(isRight ? AcknowledgedWrites.HIT : AcknowledgedWrites.WRONG, key, read);
            }
            case LoadResult.Absent _ -> {
                if (stored >= 0 && mode == CrashMode.KEEP) {
                    report(AcknowledgedWrites.MISSED, key, result);
                }
            }
            case LoadResult other -> report(AcknowledgedWrites.MISSED, key, other);
        }
    }

    private void disturb() throws IOException {
        switch (random.nextInt(CLEARING_ODDS)) {
            case 0 -> tier.clear();
            case 1, 2 -> tier.setCapacity(mode.capacity() / 2);
            case 3, 4 -> tier.setCapacity(mode.capacity());
            case 5, 6, 7 -> tier.usage();
            case 8, 9, 10 ->
                tier.discard(SelfDescribingEntries.entry(
                        SelfDescribingEntries.sharedKey(
                                random.nextInt(SelfDescribingEntries.SHARED_KEYS)),
                        SelfDescribingEntries.SHARED_VERSION));
            default -> {
                List<EntryCatalog.Listed> listed = listed();
                if (!listed.isEmpty()) {
                    EntryFiles.in(tier.directory())
                            .remove(listed.get(random.nextInt(listed.size())));
                }
            }
        }
        reportEvictions();
    }

    private void reportEvictions() throws IOException {
        long now = tier.evictions();
        if (now > evictions) {
            evictions = now;
            report(AcknowledgedWrites.EVICTED, now);
        }
    }

    private void report(Object... words) throws IOException {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.isEmpty() ? "" : " ").append(word.toString().replace('\n', ' '));
        }
        out.write(line.append('\n').toString().getBytes(UTF_8));
    }
}
