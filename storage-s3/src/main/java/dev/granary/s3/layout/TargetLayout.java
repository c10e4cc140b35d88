package dev.granary.s3.layout;

import dev.granary.cache.DamageKind;
import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;

import org.jspecify.annotations.Nullable;

import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keys of the entries, packs and manifests of one target. Thread-safe. */
public final class TargetLayout {
    private static final Pattern PACK = Pattern.compile("([0-9a-f]{64})\\.pack");
    private static final Pattern MANIFEST = Pattern.compile("[0-9]{16}");

    private final String root;
    private final String namespace;
    // cached: a target with this namespace, since computing a path is slow
    private volatile @Nullable Target target;

    /**
     * Creates the layout of one target.
     *
     * @param root the common prefix of all keys of the bucket; ends with a slash
     * @param namespace the target, as returned by {@link Target#path()}
     */
    public TargetLayout(String root, String namespace) {
        this.root = root;
        this.namespace = namespace;
    }

    /** Returns the target as a path, as {@link Target#path()} does. */
    public String namespace() {
        return namespace;
    }

    /** Returns the key of a pack. */
    public String pack(Sha256 name) {
        return packPrefix() + name.hex() + ".pack";
    }

    /** Returns the common prefix of the keys of all packs. */
    public String packPrefix() {
        return root + namespace + "/p/";
    }

    /**
     * Returns the name of a pack by its key under {@link #packPrefix}, or empty for any other key.
     */
    public Optional<Sha256> packName(String key) {
        String prefix = packPrefix();
        Matcher name = PACK.matcher(key.startsWith(prefix) ? key.substring(prefix.length()) : "");
        return name.matches() ? Optional.of(Sha256.parse(name.group(1))) : Optional.empty();
    }

    /** Returns the common prefix of the keys of all unpacked entries. */
    public String unpackedPrefix() {
        return root + namespace + "/e/";
    }

    /**
     * Returns {@code decoded}, or damage if it is an entry with another hash or of another target.
     */
    public LoadResult checkId(LoadResult decoded, Sha256 name) {
        return decoded instanceof LoadResult.Hit(Entry entry)
                        && !(entry.id().hash().equals(name)
                                && isOfThisTarget(entry.id().target()))
                ? new LoadResult.Damaged(
                        DamageKind.WRONG_KEY, "a sound entry under the key of another id")
                : decoded;
    }

    private boolean isOfThisTarget(Target other) {
        if (other.equals(target)) {
            return true;
        }
        boolean isOfThisTarget = other.path().equals(namespace);
        if (isOfThisTarget) {
            target = other;
        }
        return isOfThisTarget;
    }

    /** Returns the key of the manifest with that number. */
    public String manifest(long number) {
        return root + namespace + "/m/" + String.format(Locale.ROOT, "%016d", number);
    }

    /** Returns the key of the hint, which names a recent manifest. */
    public String hint() {
        return root + namespace + "/m/newest";
    }

    /** Returns the common prefix of the keys of all manifests and of the hint. */
    public String manifestPrefix() {
        return root + namespace + "/m/";
    }

    /** Returns the number of a manifest by its key, or empty for any other key. */
    public OptionalLong manifestNumber(String key) {
        String prefix = manifestPrefix();
        return key.startsWith(prefix)
                        && MANIFEST.matcher(key.substring(prefix.length())).matches()
                ? OptionalLong.of(Long.parseLong(key.substring(prefix.length())))
                : OptionalLong.empty();
    }
}
