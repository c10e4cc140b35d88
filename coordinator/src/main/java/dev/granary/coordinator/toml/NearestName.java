package dev.granary.coordinator.toml;

import java.util.Collection;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;

/** The known name that a mistyped one is nearest to. */
public final class NearestName {
    private static final int MAX_DISTANCE = 2;

    private NearestName() {}

    /**
     * Returns the end of a message, such as {@code "; the nearest name is 'bucket'"}; empty if no
     * name is within two letters that are inserted, removed or replaced.
     */
    public static String hint(String mistyped, Collection<String> names) {
        return find(mistyped, names)
                .map(name -> "; the nearest name is '" + name + "'")
                .orElse("");
    }

    private static Optional<String> find(String mistyped, Collection<String> names) {
        return names.stream()
                .filter(name -> Math.abs(name.length() - mistyped.length()) <= MAX_DISTANCE)
                .map(name -> Map.entry(name, distance(mistyped, name)))
                .filter(each -> each.getValue() <= MAX_DISTANCE)
                .min(Map.Entry.<String, Integer>comparingByValue()
                        .thenComparing(Comparator.comparing(Map.Entry::getKey)))
                .map(Map.Entry::getKey);
    }

    /** Returns the Levenshtein distance. */
    private static int distance(String a, String b) {
        int[] previous = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            previous[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int[] row = new int[b.length() + 1];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = previous[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(replaced, 1 + Math.min(row[j - 1], previous[j]));
            }
            previous = row;
        }
        return previous[b.length()];
    }
}
