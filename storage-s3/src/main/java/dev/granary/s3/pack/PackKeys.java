package dev.granary.s3.pack;

import dev.granary.cache.Damage;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The keys of one target's packs and manifests in a bucket.
 *
 * @param root what all keys of the bucket begin with; ends with a slash
 * @param namespace the target, as {@link dev.granary.cache.Target#path()} gives it
 */
public record PackKeys(String root, String namespace) {
    private static final Pattern PACK = Pattern.compile("([0-9a-f]{64})\\.pack");

    /** The key of a pack. */
    public String pack(Sha256 name) {
        return packPrefix() + name.hex() + ".pack";
    }

    /** What the keys of all packs begin with. */
    String packPrefix() {
        return root + namespace + "/p/";
    }

    /** The name of the pack that an object under {@link #packPrefix} is by its key; empty for anything else. */
    Optional<Sha256> nameOfPack(String key) {
        Matcher name = PACK.matcher(key.substring(packPrefix().length()));
        return name.matches() ? Optional.of(Sha256.parse(name.group(1))) : Optional.empty();
    }

    /** What the keys of all entries begin with that lie outside of packs. */
    String loosePrefix() {
        return root + namespace + "/e/";
    }

    /** A decoded entry; damaged where it is another one than that name says, or of another target. */
    public LoadResult inItsPlace(LoadResult decoded, Sha256 name) {
        return decoded instanceof LoadResult.Hit(Entry entry)
                        && !(entry.id().hash().equals(name) && entry.id().target().path().equals(namespace))
                ? new LoadResult.Damaged(Damage.WRONG_KEY, "a sound entry, in the place of another id")
                : decoded;
    }

    /** The key of the manifest of that number. */
    String manifest(long number) {
        return root + namespace + "/m/" + String.format(Locale.ROOT, "%016d", number);
    }

    /** The key of the object that says which manifest was the newest some time ago. */
    String hint() {
        return root + namespace + "/m/newest";
    }
}
