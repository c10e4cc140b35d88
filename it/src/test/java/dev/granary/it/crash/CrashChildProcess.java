package dev.granary.it.crash;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Entry;
import dev.granary.cache.EntryCatalog;
import dev.granary.cache.LoadResult;
import dev.granary.cache.StoreResult;
import dev.granary.local.LocalTier;
import dev.granary.local.config.LocalTierConfig;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;

/**
 * A process that is going to be killed: uses the tier without end, and says on its standard output what it is about to store, what was
 * acknowledged, and what it read that should not be. Each line is one write, so a killed process leaves none in part.
 */
final class CrashChildProcess {
    private static final int WRITERS_AT_MOST = 4;
    private static final int ONE_IS_CLEARING = 200;

    private final LocalTier tier;
    private final CrashMode mode;
    private final int seat;
    private final SplittableRandom random;
    private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
    private long version;
    private long evictions;

    /** What a process does. */
    enum Role {
        /** Stores, and reads some of it again. */
        WRITER,
        /** Looks up, lists, reads what is listed. */
        READER,
        /** Clears, removes, changes the capacity, surveys. */
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
        LocalTier tier = LocalTier.open(LocalTierConfig.builder(Path.of(arguments[0])).capacityBytes(mode.capacity()).build());
        CrashChildProcess child = new CrashChildProcess(tier, mode, Integer.parseInt(arguments[3]), Long.parseLong(arguments[4]), Long.parseLong(arguments[5]));
        child.act(role); // the first takes long in a new JVM
        child.say(AcknowledgedWrites.READY);
        while (true) {
            child.act(role);
        }
    }

    private void act(Role role) throws IOException {
        switch (role) {
            case WRITER -> {
                write();
                sayEvictions();
            }
            case READER -> read();
            case UPSETTER -> upset();
        }
    }

    private void write() throws IOException {
        if (random.nextInt(8) == 0) {
            store(SelfDescribingEntries.sharedKey(random.nextInt(SelfDescribingEntries.SHARED_KEYS)), SelfDescribingEntries.SHARED_VERSION);
            return;
        }
        String key = SelfDescribingEntries.key(seat, random.nextInt(SelfDescribingEntries.KEYS));
        long stored = version++;
        if (store(key, stored) && random.nextInt(4) == 0) {
            check(key, tier.load(SelfDescribingEntries.id(key)), stored);
        }
    }

    private boolean store(String key, long stored) throws IOException {
        say(AcknowledgedWrites.BEGUN, key, stored);
        switch (tier.store(SelfDescribingEntries.entry(key, stored))) {
            case StoreResult.Stored _, StoreResult.Duplicate _ -> {
                say(AcknowledgedWrites.ACKNOWLEDGED, key, stored);
                return true;
            }
            case StoreResult.Failed failed -> say(AcknowledgedWrites.FAILED, key, failed.cause());
            case StoreResult other -> say(AcknowledgedWrites.FAILED, key, other);
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
                : SelfDescribingEntries.key(random.nextInt(WRITERS_AT_MOST), random.nextInt(SelfDescribingEntries.KEYS));
        check(key, tier.load(SelfDescribingEntries.id(key)), -1);
    }

    private void readListed() throws IOException {
        for (EntryCatalog.Listed listed : listed()) {
            if (tier.read(listed) instanceof LoadResult.Hit hit) {
                check("listed", hit, -1);
            }
        }
    }

    private List<EntryCatalog.Listed> listed() {
        List<EntryCatalog.Listed> listed = new ArrayList<>();
        try {
            tier.list(listed::add);
        } catch (IOException e) {
            return List.of(); // counted by the tier
        }
        return listed;
    }

    /** Judges what was read; {@code stored} is the version that must be there, -1 for any or none. */
    private void check(String key, LoadResult result, long stored) throws IOException {
        switch (result) {
            case LoadResult.Hit hit -> {
                OptionalLong read = SelfDescribingEntries.version(hit.entry());
                boolean isRight = read.isPresent() && (key.equals("listed") || hit.entry().id().equals(SelfDescribingEntries.id(key)))
                        && (stored < 0 || read.getAsLong() == stored);
                say(isRight ? AcknowledgedWrites.HIT : AcknowledgedWrites.WRONG, key, read);
            }
            case LoadResult.Absent _ -> {
                if (stored >= 0 && mode == CrashMode.KEEP) {
                    say(AcknowledgedWrites.MISSED, key, result);
                }
            }
            case LoadResult other -> say(AcknowledgedWrites.MISSED, key, other);
        }
    }

    private void upset() throws IOException {
        switch (random.nextInt(ONE_IS_CLEARING)) {
            case 0 -> tier.clear();
            case 1, 2 -> tier.setCapacity(mode.capacity() / 2);
            case 3, 4 -> tier.setCapacity(mode.capacity());
            case 5, 6, 7 -> tier.usage();
            case 8, 9, 10 -> tier.discard(SelfDescribingEntries.entry(SelfDescribingEntries.sharedKey(random.nextInt(SelfDescribingEntries.SHARED_KEYS)), SelfDescribingEntries.SHARED_VERSION));
            default -> {
                List<EntryCatalog.Listed> listed = listed();
                if (!listed.isEmpty()) {
                    tier.remove(listed.get(random.nextInt(listed.size())));
                }
            }
        }
        sayEvictions();
    }

    private void sayEvictions() throws IOException {
        long now = tier.statistics().evictions();
        if (now > evictions) {
            evictions = now;
            say(AcknowledgedWrites.EVICTED, now);
        }
    }

    private void say(Object... words) throws IOException {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.isEmpty() ? "" : " ").append(word.toString().replace('\n', ' '));
        }
        out.write(line.append('\n').toString().getBytes(UTF_8));
    }
}
