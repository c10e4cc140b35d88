package dev.granary.cache;

import java.util.HexFormat;
import java.util.List;

/** Ids with unusual content. {@link #main} prints them for a comparison with another JVM. */
final class IdSamples {
    static final Target TURKISH =
            new Target(Backend.LEVEL_ZERO, "INTEL", "IRIS Xe (ÇIĞ) 中文", "24.39.31294");

    private IdSamples() {}

    static List<Id> all() {
        return List.of(
                Id.builder(TURKISH).build(),
                Id.builder(TURKISH)
                        .field("options", "-DTITLE=\"I\" -cl-mad-enable")
                        .field("bits", 64)
                        .field("raw", new byte[] {0, -1})
                        .build(),
                Id.builder(new Target(Backend.OPENCL, "pocl", "cpu-haswell", Target.UNKNOWN))
                        .field("source", "a\r\nb\nc\0€\uD83D\uDE80")
                        .build(),
                Id.builder(TURKISH)
                        .field("", "")
                        .field("large", "x".repeat(100_000))
                        .build());
    }

    static List<String> lines() {
        return all().stream()
                .map(id -> HexFormat.of().formatHex(id.bytes()) + " " + id.hash() + " "
                        + id.target().path())
                .toList();
    }

    public static void main(String[] arguments) {
        lines().forEach(System.out::println);
    }
}
