package dev.granary.gpu;

import dev.granary.gpu.source.PreprocessedText;

import java.util.Set;
import java.util.regex.Pattern;

/**
 * A check whether the front end makes the same program of a source for every device. Front ends
 * declare the extensions of a device, and with them macros, types and the type of literals.
 *
 * <p>The check reads tokens outside of comments, and expands no macro. A source is portable if it
 * has no token whose meaning may depend on the device:
 *
 * <ul>
 *   <li>macros of extensions, versions, features and of the compiler: names that begin with
 *       {@code cl_}, {@code CL_}, {@code cles_}, {@code FP_FAST_}, and with two underscores unless
 *       they are keywords of OpenCL C; {@code OPENCL}, as in pragmas
 *   <li>the types {@code half} and {@code double} with their vectors, and literals without the
 *       suffix {@code f}: without the extension a {@code double} is a {@code float}
 *   <li>macros of the language that are such literals, such as {@code M_PI} and {@code DBL_MAX}, or
 *       belong to an extension
 *   <li>{@code printf}, whose arguments are promoted to {@code double} where there is one
 *   <li>{@code ##} and trigraphs, which may form any of these
 *   <li>options of a version from OpenCL C 2.0 on, whose features are optional, and of extensions
 * </ul>
 *
 * <p>Functions are no such token: without the extension of a device a call does not compile.
 */
final class SourcePortability {
    private static final Pattern DEVICE_NAME =
            Pattern.compile("(cl_|CL_|cles_|FP_FAST_|__).*|(as_)?(half|double)[0-9]*|printf|OPENCL"
                    + "|M_(E|LOG(2|10)E|LN(2|10)|PI(_[24])?|[12]_PI|2_SQRTPI|SQRT(2|1_2))(_H)?"
                    + "|(DBL|HALF)_(MAX|MIN|EPSILON|DIG|MANT_DIG|RADIX).*|HUGE_VAL|CLK_.*_INTEL");

    private static final Set<String> KEYWORDS = Set.of(
            "__kernel",
            "__global",
            "__local",
            "__constant",
            "__private",
            "__read_only",
            "__write_only",
            "__attribute__",
            "__FILE__",
            "__LINE__");

    private static final Pattern PORTABLE_STANDARD = Pattern.compile("-cl-std=CL1\\.[012]");

    private SourcePortability() {}

    /** Returns true if every device has the same intermediate program of the kernel. */
    static boolean isPortable(KernelDescriptor kernel) {
        return kernel.sources().stream().allMatch(SourcePortability::isPortable)
                && kernel.headers().values().stream().allMatch(SourcePortability::isPortable)
                && kernel.optionTokens().stream().allMatch(SourcePortability::isPortableOption);
    }

    private static boolean isPortableOption(String option) {
        if (option.startsWith("-cl-std")) {
            return PORTABLE_STANDARD.matcher(option).matches();
        }
        if (option.startsWith("-D")) {
            return isPortable(option.substring(2));
        }
        return !option.startsWith("-cl-ext");
    }

    /** Returns true if a text has no token of a device. Strings have tokens too. */
    private static boolean isPortable(String source) {
        PreprocessedText read = PreprocessedText.of(source);
        String text = read.withoutComments();
        if (read.unclear().isPresent()
                || text.contains("##")
                || text.contains("??")
                || text.contains("%:")) {
            return false;
        }
        int at = 0;
        while (at < text.length()) {
            int end = at + 1;
            if (isNumberStart(text, at)) {
                end = numberEnd(text, at);
                if (isDoubleLiteral(text.substring(at, end))) {
                    return false;
                }
            } else if (isNamePart(text.charAt(at))) {
                while (end < text.length() && isNamePart(text.charAt(end))) {
                    end++;
                }
                if (isOfDevice(text.substring(at, end))) {
                    return false;
                }
            }
            at = end;
        }
        return true;
    }

    private static boolean isOfDevice(String name) {
        return DEVICE_NAME.matcher(name).matches() && !KEYWORDS.contains(name);
    }

    private static boolean isNamePart(char c) {
        return c == '_' || c == '$' || Character.isLetterOrDigit(c);
    }

    private static boolean isNumberStart(String text, int at) {
        return isDigit(text.charAt(at))
                || (text.charAt(at) == '.'
                        && at + 1 < text.length()
                        && isDigit(text.charAt(at + 1)));
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    /** Returns the end of a number as the preprocessor reads it, with suffix and exponent. */
    private static int numberEnd(String text, int start) {
        int end = start + 1;
        while (end < text.length()) {
            char c = text.charAt(end);
            boolean isSign = (c == '+' || c == '-') && "eEpP".indexOf(text.charAt(end - 1)) >= 0;
            if (c != '.' && !isSign && !isNamePart(c)) {
                break;
            }
            end++;
        }
        return end;
    }

    private static boolean isDoubleLiteral(String number) {
        boolean isHexadecimal = number.startsWith("0x") || number.startsWith("0X");
        String exponents = isHexadecimal ? "pP" : "eE";
        boolean isFloating =
                number.indexOf('.') >= 0 || exponents.chars().anyMatch(c -> number.indexOf(c) >= 0);
        return isFloating && !number.endsWith("f") && !number.endsWith("F");
    }
}
