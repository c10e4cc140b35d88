package dev.granary.cache.fuzz;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A parser under fuzzing.
 *
 * @param name the name of the parser in messages
 * @param seeds valid inputs, at least one
 * @param dictionary pieces inserted into inputs: magic numbers, limits, earlier findings
 * @param repair corrects checksums and lengths of a mutated input, so that the mutation reaches the
 *     code behind them
 * @param documented the documented exceptions of the parser; any other ends the run
 * @param bytesPerByte the heap in bytes that the parser may allocate per byte of input, beyond
 *     {@link #BASE_BYTES}
 * @param parser the parser; throws {@link AssertionError} for a result that contradicts the
 *     documentation
 */
public record FuzzTarget(
        String name,
        List<byte[]> seeds,
        List<byte[]> dictionary,
        UnaryOperator<byte[]> repair,
        Set<Class<? extends Throwable>> documented,
        int bytesPerByte,
        Parser parser) {
    /**
     * The heap in bytes that a parser may allocate for an empty input: objects, messages, stack
     * traces.
     */
    public static final long BASE_BYTES = 1 << 20;

    /** A parser of an input. */
    @FunctionalInterface
    public interface Parser {
        /** Parses {@code input} and reads everything that a user of the parser would read. */
        void parse(byte[] input) throws Exception;
    }

    /** Returns a target without checksums and without documented exceptions. */
    public static FuzzTarget of(String name, List<byte[]> seeds, Parser parser) {
        return new FuzzTarget(
                name, seeds, List.of(), UnaryOperator.identity(), Set.of(), 64, parser);
    }

    /** Returns texts as inputs. */
    public static List<byte[]> texts(String... texts) {
        return Stream.of(texts).map(text -> text.getBytes(UTF_8)).toList();
    }

    /** Returns this target with a repair of checksums. */
    public FuzzTarget repaired(UnaryOperator<byte[]> with) {
        return new FuzzTarget(name, seeds, dictionary, with, documented, bytesPerByte, parser);
    }

    /** Returns this target with these texts as dictionary. */
    public FuzzTarget words(List<String> words) {
        List<byte[]> bytes = words.stream().map(word -> word.getBytes(UTF_8)).toList();
        return new FuzzTarget(name, seeds, bytes, repair, documented, bytesPerByte, parser);
    }

    /** Returns this target with a documented exception. */
    public FuzzTarget throwing(Class<? extends Throwable> exception) {
        return new FuzzTarget(
                name, seeds, dictionary, repair, Set.of(exception), bytesPerByte, parser);
    }

    /** Returns this target with another allocation limit. */
    public FuzzTarget allocating(int bytes) {
        return new FuzzTarget(name, seeds, dictionary, repair, documented, bytes, parser);
    }
}
