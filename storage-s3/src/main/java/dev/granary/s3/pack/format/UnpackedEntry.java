package dev.granary.s3.pack.format;

import dev.granary.cache.Sha256;
import dev.granary.s3.store.ObjectStore;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A listed entry outside of packs.
 *
 * @param id the hash of its id
 * @param key its key
 * @param bytes its length
 * @param etag its version
 */
public record UnpackedEntry(Sha256 id, String key, long bytes, String etag) {
    private static final Pattern NAME = Pattern.compile("([0-9a-f]{2})/([0-9a-f]{64})");

    /**
     * Returns the entry whose key an object under {@code prefix} has, or empty for any other
     * object.
     */
    public static Optional<UnpackedEntry> of(ObjectStore.Listed object, String prefix) {
        if (!object.key().startsWith(prefix)) {
            return Optional.empty(); // a server may list keys outside of the prefix
        }
        Matcher name = NAME.matcher(object.key().substring(prefix.length()));
        return name.matches() && name.group(2).startsWith(name.group(1))
                ? Optional.of(new UnpackedEntry(
                        Sha256.parse(name.group(2)), object.key(), object.bytes(), object.etag()))
                : Optional.empty();
    }
}
