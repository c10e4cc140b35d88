package dev.granary.s3.register;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.cache.Sha256;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.format.PackInfo;

import java.util.List;

/** A base: the list of folded packs. Immutable. */
public final class Base {
    /**
     * The largest size of a base in bytes, that of some 6 million entries. A hostile one takes 42
     * times as much memory while it is decoded.
     */
    public static final int MAX_BYTES = 16 << 20;

    private static final int FORMAT = 1;

    private final ObjectName name;
    private final byte[] encoded;
    private final List<PackInfo> packs;

    private Base(ObjectName name, byte[] encoded, List<PackInfo> packs) {
        this.name = name;
        this.encoded = encoded;
        this.packs = packs;
    }

    /** Returns its name, with the hash of the encoded form. */
    public ObjectName name() {
        return name;
    }

    /** Returns the encoded form; not a copy. */
    public byte[] encoded() {
        return encoded;
    }

    /** Returns the packs; an entry in several is read from the first. */
    public List<PackInfo> packs() {
        return packs;
    }

    /** Returns the base of these packs, with the name that a writer of a generation gives it. */
    static Base of(long generation, List<PackInfo> packs) {
        JsonArray rows = new JsonArray();
        packs.forEach(pack -> rows.add(pack.json()));
        JsonObject json = new JsonObject();
        json.addProperty("format", FORMAT);
        json.add("packs", rows);
        byte[] encoded = json.toString().getBytes(UTF_8);
        return new Base(new ObjectName(generation, Sha256.of(encoded)), encoded, packs);
    }

    /** Decodes an object with arbitrary content. */
    public static Base decode(ObjectName name, byte[] encoded) throws RegisterException {
        if (!Sha256.of(encoded).equals(name.hash())) {
            throw RegisterException.loss("the base " + name + " is damaged");
        }
        try {
            JsonObject json = JsonParser.parseString(new String(encoded, UTF_8)).getAsJsonObject();
            if (json.get("format").getAsInt() != FORMAT) {
                throw RegisterException.unusable(
                        "another version of Granary wrote the base " + name);
            }
            List<PackInfo> packs = json.getAsJsonArray("packs").asList().stream()
                    .map(PackInfo::of)
                    .toList();
            return new Base(name, encoded, packs);
        } catch (RuntimeException e) { // arbitrary content
            throw RegisterException.loss("the base " + name + " is not one");
        }
    }
}
