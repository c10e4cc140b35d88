package dev.granary.s3.layout;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The keys of one target's packs and manifests in a bucket. Thread-safe. */
public final class TargetLayout {
    private static final Pattern PACK = Pattern.compile("([0-9a-f]{64})\\.pack");
    private static final Pattern MANIFEST = Pattern.compile("[0-9]{16}");

    private final String root;
    private final String namespace;
    private volatile @Nullable Target target; // one that has this namespace, once an entry of it was seen: the name takes long to make

    /**
     * The keys of a target.
     *
     * @param root what all keys of the bucket begin with; ends with a slash
     * @param namespace the target, as {@link Target#path()} gives it
     */
    public TargetLayout(String root, String namespace) {
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
    public String packPrefix() {
        return root + namespace + "/p/";
    }

    /** The name of the pack that an object under {@link #packPrefix} is by its key; empty for anything else. */
    public Optional<Sha256> packName(String key) {
        String prefix = packPrefix();
        Matcher name = PACK.matcher(key.startsWith(prefix) ? key.substring(prefix.length()) : "");
        return name.matches() ? Optional.of(Sha256.parse(name.group(1))) : Optional.empty();
    }

    /** What the keys of all entries begin with that lie outside of packs. */
    public String unpackedPrefix() {
        return root + namespace + "/e/";
    }

    /** A decoded entry; damaged where it is another one than that name says, or of another target. */
    public LoadResult checkId(LoadResult decoded, Sha256 name) {
        return decoded instanceof LoadResult.Hit(Entry entry) && !(entry.id().hash().equals(name) && isOfThisTarget(entry.id().target()))
                ? new LoadResult.Damaged(DamageKind.WRONG_KEY, "a sound entry, in the place of another id")
                : decoded;
    }

    private boolean isOfThisTarget(Target asked) {
        if (asked.equals(target)) {
            return true;
        }
        boolean isOfThisTarget = asked.path().equals(namespace);
        if (isOfThisTarget) {
            target = asked;
        }
        return isOfThisTarget;
    }

    /** The key of the manifest of that number. */
    public String manifest(long number) {
        return root + namespace + "/m/" + String.format(Locale.ROOT, "%016d", number);
    }

    /** The key of the object that says which manifest was the newest some time ago. */
    public String hint() {
        return root + namespace + "/m/newest";
    }

    /** What the keys of all manifests and of the hint begin with. */
    public String manifestPrefix() {
        return root + namespace + "/m/";
    }

    /** The number of the manifest that an object is by its key; empty for anything else. */
    public OptionalLong manifestNumber(String key) {
        String prefix = manifestPrefix();
        return key.startsWith(prefix) && MANIFEST.matcher(key.substring(prefix.length())).matches()
                ? OptionalLong.of(Long.parseLong(key.substring(prefix.length())))
                : OptionalLong.empty();
    }
}
