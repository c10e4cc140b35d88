package dev.granary.s3.layout;

import dev.granary.cache.EntryCatalog;
import dev.granary.cache.Id;
import dev.granary.cache.Sha256;
import dev.granary.s3.config.S3Location;
import dev.granary.s3.store.ObjectStore;

import java.util.HexFormat;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Keys of the objects of a bucket: {@code <prefix>/v2/<backend>/<target>/e/<hh>/<sha256>} and
 * others, as {@code docs/bucket.md} lists them.
 */
public final class BucketLayout {
    /**
     * A path returned by {@link dev.granary.cache.Target#path()}: neither of its names begins with
     * a dot.
     */
    public static final String NAMESPACE = "([a-z0-9-]{1,64}/[a-z0-9_-][a-z0-9._-]{0,199})";

    private static final Pattern ENTRY =
            Pattern.compile(NAMESPACE + "/e/([0-9a-f]{2})/([0-9a-f]{64})");
    private static final Pattern PACK =
            Pattern.compile(NAMESPACE + "/p/" + ObjectName.PATTERN + "\\.pack");
    private static final Pattern HEAD = Pattern.compile(NAMESPACE + "/head");

    private final String prefix;
    private final String root;

    public BucketLayout(S3Location location) {
        this.prefix = location.prefix().isEmpty() ? "" : location.prefix() + "/";
        this.root = prefix + "v2/";
    }

    /** Returns 32 random hexadecimal digits. */
    public static String randomName(RandomGenerator random) {
        HexFormat digits = HexFormat.of();
        return digits.toHexDigits(random.nextLong()) + digits.toHexDigits(random.nextLong());
    }

    /** Returns the common prefix of the keys of all objects of targets. */
    public String root() {
        return root;
    }

    /** Returns the keys of the target of that namespace. */
    public TargetLayout target(String namespace) {
        return new TargetLayout(this, namespace);
    }

    /** Returns the key of an unpacked entry. */
    public String entry(Id id) {
        return entry(id.target().path(), id.hash());
    }

    /** Returns the key of the unpacked entry with that hash in a namespace. */
    public String entry(String namespace, Sha256 hash) {
        String name = hash.hex();
        return root + namespace + "/e/" + name.substring(0, 2) + "/" + name;
    }

    /** Returns the key of the claim of a machine that compiles an entry. */
    public String claim(Id id) {
        return root + id.target().path() + "/c/" + id.hash().hex();
    }

    /** Returns the key of the capability marker, the same for all versions of the layout. */
    public String marker() {
        return prefix + "granary.json";
    }

    /**
     * Returns the common prefix of the keys of all notes of use: beside the targets, so that a
     * policy can allow these alone to be written.
     */
    public String usePrefix() {
        return prefix + "use/";
    }

    /** Returns the common prefix of the keys of all pins. */
    public String pinPrefix() {
        return prefix + "pin/";
    }

    /** Returns a key for an object of a probe; no reader requests it. */
    public String probeObject(String name) {
        return root + "trial/" + name;
    }

    /** Returns the namespace of a head by its key, or empty for any other key. */
    public Optional<String> headNamespace(String key) {
        Matcher head = HEAD.matcher(key.startsWith(root) ? key.substring(root.length()) : "");
        return head.matches() ? Optional.of(head.group(1)) : Optional.empty();
    }

    /** Returns true if the key is that of a pack. */
    public boolean isPack(String key) {
        return key.startsWith(root)
                && PACK.matcher(key.substring(root.length())).matches();
    }

    /** Returns the entry whose key a listed object has, or empty for any other object. */
    public Optional<EntryCatalog.Listed> listed(ObjectStore.Listed object) {
        if (!object.key().startsWith(root)) {
            return Optional.empty();
        }
        Matcher key = ENTRY.matcher(object.key().substring(root.length()));
        if (!key.matches() || !key.group(3).startsWith(key.group(2))) {
            return Optional.empty();
        }
        return Optional.of(new EntryCatalog.Listed(
                key.group(1),
                Sha256.parse(key.group(3)),
                object.bytes(),
                object.lastModifiedMillis()));
    }
}
