package dev.granary.s3.pack;

import dev.granary.cache.Damage;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import java.util.Locale;

/**
 * The keys of one target's packs and manifests in a bucket.
 *
 * @param root what all keys of the bucket begin with; ends with a slash
 * @param namespace the target, as {@link dev.granary.cache.Target#path()} gives it
 */
public record PackKeys(String root, String namespace) {
    /** The key of a pack. */
    public String pack(Sha256 name) {
        return root + namespace + "/p/" + name.hex() + ".pack";
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
