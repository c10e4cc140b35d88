package dev.granary.cli.option;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Sha256;
import dev.granary.cli.manifest.KernelSpec;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

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

    /** Converter of a part such as {@code 2/4}. */
    public static final class Converter implements ITypeConverter<Shard> {
        private static final Pattern PART = Pattern.compile("([0-9]{1,9})/([0-9]{1,9})");

        @Override
        public Shard convert(String text) {
            Matcher parts = PART.matcher(text);
            int number = parts.matches() ? Integer.parseInt(parts.group(1)) : 0;
            if (number == 0 || number > Integer.parseInt(parts.group(2))) {
                throw new TypeConversionException(
                        "'" + text + "' should be a part I/N with I from 1 to N, such as 2/4");
            }
            return new Shard(number, Integer.parseInt(parts.group(2)));
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
