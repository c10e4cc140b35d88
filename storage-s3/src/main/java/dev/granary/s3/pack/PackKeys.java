package dev.granary.s3.pack;

import dev.granary.cache.Damage;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The keys of one target's packs and manifests in a bucket. Thread-safe. */
public final class PackKeys {
    private static final Pattern PACK = Pattern.compile("([0-9a-f]{64})\\.pack");

    private final String root;
    private final String namespace;
    private volatile @Nullable Target target; // one that has this namespace, once an entry of it was seen: the name takes long to make

    /**
     * The keys of a target.
     *
     * @param root what all keys of the bucket begin with; ends with a slash
     * @param namespace the target, as {@link Target#path()} gives it
     */
    public PackKeys(String root, String namespace) {
        this.root = root;
        this.namespace = namespace;
    }

    /** The target, as {@link Target#path()} gives it. */
    public String namespace() {
        return namespace;
    }

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
        String prefix = packPrefix();
        Matcher name = PACK.matcher(key.startsWith(prefix) ? key.substring(prefix.length()) : "");
        return name.matches() ? Optional.of(Sha256.parse(name.group(1))) : Optional.empty();
    }

    /** What the keys of all entries begin with that lie outside of packs. */
    String loosePrefix() {
        return root + namespace + "/e/";
    }

    /** A decoded entry; damaged where it is another one than that name says, or of another target. */
    public LoadResult inItsPlace(LoadResult decoded, Sha256 name) {
        return decoded instanceof LoadResult.Hit(Entry entry) && !(entry.id().hash().equals(name) && isHere(entry.id().target()))
                ? new LoadResult.Damaged(Damage.WRONG_KEY, "a sound entry, in the place of another id")
                : decoded;
    }

    private boolean isHere(Target asked) {
        if (asked.equals(target)) {
            return true;
        }
        boolean isHere = asked.path().equals(namespace);
        if (isHere) {
            target = asked;
        }
        return isHere;
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
