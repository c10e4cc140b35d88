package dev.granary.cli.manifest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Sha256;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * One of several parts of a manifest, for machines that divide it. A kernel belongs to the part
 * that the SHA-256 of its name selects, whatever its place in the manifest and its target are.
 *
 * @param number the number of the part, from 1 to {@code count}
 * @param count the number of parts
 */
public record Shard(int number, int count) {
    /** The only part of a manifest that is not divided. */
    public static final Shard WHOLE = new Shard(1, 1);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if {@code number} is not from 1 to {@code count}
     */
    public Shard {
        if (number < 1 || number > count) {
            throw new IllegalArgumentException("There is no part " + number + " of " + count);
        }
    }

    /** Returns the kernels of this part, in their order. */
    public List<KernelSpec> of(List<KernelSpec> kernels) {
        return kernels.stream().filter(kernel -> has(kernel.name())).toList();
    }

    boolean has(String name) {
        long digest = ByteBuffer.wrap(Sha256.of(name.getBytes(UTF_8)).bytes()).getLong();
        return Long.remainderUnsigned(digest, count) == number - 1;
    }

    @Override
    public String toString() {
        return number + "/" + count;
    }
}
