package dev.granary.benchmarks.bucket.workload;

import dev.granary.cache.Backend;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Target;
import dev.granary.cache.format.EntrySigner;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.KeyTexts;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Numbered entries of one target. Sizes are log-normal with a median of 32 KiB and a mean of 37 kB,
 * or equal. Entries are created on demand, since all of them may not fit in memory. Equal seeds and
 * numbers give equal entries.
 *
 * <p>The workload of the local benchmark is another class: its sizes spread more, its ids are of
 * one target in all processes, and its entries are frames that other stores hold as well.
 */
public final class BucketWorkload {
    private static final KeyTexts.Pair KEYS = keys();
    private static final EntrySigner SIGNER = signer();
    private static final EntryMetadata METADATA =
            new EntryMetadata("bench", "bench", Instant.EPOCH, List.of("k"), List.of(), "bench");
    private static final double MEDIAN_BYTES = 32 << 10;
    private static final double SIGMA = 0.51;

    private final Target target;
    private final PayloadKind content;
    private final long seed;
    private final int first;
    private final int[] sizes;

    private BucketWorkload(String device, PayloadKind content, long seed, int first, int[] sizes) {
        this.target = new Target(Backend.OPENCL, "bench", device, "1");
        this.content = content;
        this.seed = seed;
        this.first = first;
        this.sizes = sizes;
    }

    /** Returns {@code count} entries of the sizes of compiled kernels. */
    public static BucketWorkload workload(PayloadKind content, long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] sizes = IntStream.range(0, count)
                .map(_ -> (int) (MEDIAN_BYTES * Math.exp(SIGMA * random.nextGaussian())))
                .toArray();
        return new BucketWorkload("Workload", content, seed, 0, sizes);
    }

    /** Returns the target in the form of keys and of {@code --target}. */
    public String namespace() {
        return target.path();
    }

    public int count() {
        return sizes.length;
    }

    /** Returns the bytes of all binaries. */
    public long bytes() {
        return IntStream.of(sizes).asLongStream().sum();
    }

    /** Returns the id of entry {@code index}. */
    public Id id(int index) {
        return Id.builder(target).field("n", first + index).build();
    }

    /** Returns the ids of all entries, in order. */
    public List<Id> ids() {
        return IntStream.range(0, sizes.length).mapToObj(this::id).toList();
    }

    /** Returns the binary of entry {@code index}. */
    public byte[] binary(int index) {
        byte[] binary = new byte[sizes[index]];
        content.fill(binary, new SplittableRandom(seed * 31 + first + index));
        return binary;
    }

    /** Returns the public key whose signature all entries have. */
    public String publicKey() {
        return KEYS.publicKey();
    }

    /** Returns entry {@code index}, which is signed. */
    Entry entry(int index) {
        return SIGNER.sign(Entry.of(
                id(index), KernelBinaries.of(binary(index)), Duration.ofMillis(100), METADATA));
    }

    private static EntrySigner signer() {
        try {
            return GranaryConfig.builder()
                    .environment(Map.of())
                    .signingKey(KEYS.privateKey())
                    .build()
                    .signer()
                    .orElseThrow();
        } catch (ConfigException e) {
            throw new IllegalStateException(e);
        }
    }

    private static KeyTexts.Pair keys() {
        try {
            return KeyTexts.create("bench");
        } catch (ConfigException e) {
            throw new IllegalStateException(e);
        }
    }
}
