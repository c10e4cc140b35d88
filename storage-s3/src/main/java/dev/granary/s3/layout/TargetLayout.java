package dev.granary.s3.layout;

import dev.granary.cache.Entry;
import dev.granary.cache.LoadResult;
import dev.granary.cache.LoadResult.DamageKind;
import dev.granary.cache.Sha256;
import dev.granary.cache.Target;

import org.jspecify.annotations.Nullable;

import java.util.Optional;

/** Keys of the objects of one target. Thread-safe. */
public final class TargetLayout {
    private static final String PACK_SUFFIX = ".pack";

    private final BucketLayout bucket;
    private final String namespace;
    private final String root;
    // cached: a target with this namespace, since computing a path is slow
    private volatile @Nullable Target target;

    TargetLayout(BucketLayout bucket, String namespace) {
        this.bucket = bucket;
        this.namespace = namespace;
        this.root = bucket.root() + namespace + "/";
    }

    /** Returns the target as a path, as {@link Target#path()} does. */
    public String namespace() {
        return namespace;
    }

    /** Returns the key of the register, the only object of the target that changes. */
    public String head() {
        return root + "head";
    }

    /** Returns the key of a pack. */
    public String pack(ObjectName name) {
        return packPrefix() + name + PACK_SUFFIX;
    }

    /** Returns the common prefix of the keys of all packs. */
    public String packPrefix() {
        return root + "p/";
    }

    /**
     * Returns the name of a pack by its key under {@link #packPrefix}, or empty for any other key.
     */
    public Optional<ObjectName> packName(String key) {
        return key.startsWith(packPrefix()) && key.endsWith(PACK_SUFFIX)
                ? ObjectName.parse(
                        key.substring(packPrefix().length(), key.length() - PACK_SUFFIX.length()))
                : Optional.empty();
    }

    /** Returns the key of a base. */
    public String base(ObjectName name) {
        return basePrefix() + name;
    }

    /** Returns the common prefix of the keys of all bases. */
    public String basePrefix() {
        return root + "m/";
    }

    /**
     * Returns the name of a base by its key under {@link #basePrefix}, or empty for any other key.
     */
    public Optional<ObjectName> baseName(String key) {
        return key.startsWith(basePrefix())
                ? ObjectName.parse(key.substring(basePrefix().length()))
                : Optional.empty();
    }

    /** Returns the key of the unpacked entry with that hash. */
    public String entry(Sha256 hash) {
        return bucket.entry(namespace, hash);
    }

    /** Returns the common prefix of the keys of all unpacked entries. */
    public String unpackedPrefix() {
        return root + "e/";
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
}
