package dev.granary.cache.fuzz;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A parser under fuzzing.
 *
 * @param name the parser, in messages
 * @param seeds valid inputs, at least one
 * @param dictionary pieces that are put into inputs: marks, numbers at the edge of a range, what was found before
 * @param repair makes checksums and lengths of a mutated input fit again, so that the mutation reaches what lies behind them
 * @param documented the exceptions that the parser documents; any other ends the run
 * @param bytesPerByte how many bytes of heap the parser may allocate for each byte of input, beyond {@link #BASE_BYTES}
 * @param parser the parser; throws {@link AssertionError} itself for a result that contradicts the documentation
 */
public record FuzzTarget(
        String name,
        List<byte[]> seeds,
        List<byte[]> dictionary,
        UnaryOperator<byte[]> repair,
        Set<Class<? extends Throwable>> documented,
        int bytesPerByte,
        Parser parser) {
    /** What a parser may allocate for an empty input, in bytes: objects, messages, stack traces. */
    public static final long BASE_BYTES = 1 << 20;

    /** Reads an input. */
    @FunctionalInterface
    public interface Parser {
        /** Reads {@code input}, all of it that a user of the parser would read. */
        void parse(byte[] input) throws Exception;
    }

    /** A parser of bytes without checksums, which throws nothing. */
    public static FuzzTarget of(String name, List<byte[]> seeds, Parser parser) {
        return new FuzzTarget(name, seeds, List.of(), UnaryOperator.identity(), Set.of(), 64, parser);
    }

    /** Texts as inputs. */
    public static List<byte[]> texts(String... texts) {
        return Stream.of(texts).map(text -> text.getBytes(UTF_8)).toList();
    }

    /** With a repair of checksums. */
    public FuzzTarget repaired(UnaryOperator<byte[]> with) {
        return new FuzzTarget(name, seeds, dictionary, with, documented, bytesPerByte, parser);
    }

    /** With more pieces in the dictionary, as text. */
    public FuzzTarget words(List<String> words) {
        List<byte[]> bytes = words.stream().map(word -> word.getBytes(UTF_8)).toList();
        return new FuzzTarget(name, seeds, bytes, repair, documented, bytesPerByte, parser);
    }

    /** With an exception that the parser documents. */
    public FuzzTarget throwing(Class<? extends Throwable> exception) {
        return new FuzzTarget(name, seeds, dictionary, repair, Set.of(exception), bytesPerByte, parser);
    }

    /** With another bound of memory. */
    public FuzzTarget allocating(int bytes) {
        return new FuzzTarget(name, seeds, dictionary, repair, documented, bytes, parser);
    }
}
