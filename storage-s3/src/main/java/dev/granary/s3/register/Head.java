package dev.granary.s3.register;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.pack.format.PackInfo;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A head: the state of a target's register. Immutable.
 *
 * @param generation one more in each head; a new register starts at the server's date in
 *     milliseconds, above every name of a register that was removed
 * @param nonce a random number of the writer
 * @param boundary the generation below which unnamed objects may be deleted, and none is named
 * @param candidate the next boundary
 * @param base the list of folded packs; empty if there are none
 * @param recent packs that are not folded yet, the newest first
 * @param retired packs and bases that left, until they may be deleted
 * @param unknown fields of a newer version, which are kept
 */
public record Head(
        long generation,
        String nonce,
        long boundary,
        Optional<Candidate> candidate,
        Optional<ObjectName> base,
        List<PackInfo> recent,
        List<Retired> retired,
        JsonObject unknown) {
    /** The number of recent packs that are folded into a base. */
    public static final int FOLDED = 64;

    /** The largest size of the filters of recent packs together, in bytes. */
    private static final int MAX_FILTER_BYTES = 64 << 10;

    /** The largest size of a head in bytes. */
    static final int MAX_BYTES = 4 << 20;

    private static final int FORMAT = 1;
    private static final Gson JSON =
            new GsonBuilder().disableHtmlEscaping().setPrettyPrinting().create();

    /**
     * The generation that the next but one deletion makes the boundary.
     *
     * @param sinceMillis when it was noted, by the server's clock, in milliseconds since 1970
     */
    public record Candidate(long generation, long sinceMillis) {}

    /** A pack or base that left in the head of that generation. */
    public record Retired(ObjectName name, long generation) {}

    public Head {
        recent = List.copyOf(recent);
        retired = List.copyOf(retired);
    }

    /** Returns the first head of a register. */
    static Head first(long serverMillis, String nonce) {
        return new Head(
                serverMillis,
                nonce,
                serverMillis,
                Optional.empty(),
                Optional.empty(),
                List.of(),
                List.of(),
                new JsonObject());
    }

    /** Returns this state as that of the next head. */
    Head next(String newNonce) {
        return new Head(
                generation + 1, newNonce, boundary, candidate, base, recent, retired, unknown);
    }

    /** Returns true if a pack of that name is recent or retired. */
    public boolean namesOrRetires(ObjectName name) {
        return recent.stream().anyMatch(pack -> pack.name().equals(name)) || retires(name);
    }

    /** Returns true if a pack or base of that name left. */
    public boolean retires(ObjectName name) {
        return retired.stream().anyMatch(one -> one.name().equals(name));
    }

    /** Returns true if an object of that generation may be named. */
    public boolean admits(ObjectName name) {
        return name.generation() >= boundary && name.generation() <= generation;
    }

    /** Returns this state with one more pack, without its filter if that is too large. */
    public Head with(PackInfo pack) {
        int bytes = recent.stream().mapToInt(PackInfo::filterBytes).sum();
        List<PackInfo> packs = new ArrayList<>();
        packs.add(
                bytes + pack.filterBytes() > MAX_FILTER_BYTES ? pack.with(Optional.empty()) : pack);
        packs.addAll(recent);
        return with(base, packs, retired);
    }

    /**
     * Returns this state with another base.
     *
     * @param inBase packs that the base has, which are not recent any more
     * @param gone packs that leave
     */
    public Head with(Optional<ObjectName> newBase, Set<ObjectName> inBase, Set<ObjectName> gone) {
        List<Retired> left = new ArrayList<>(retired);
        gone.forEach(name -> left.add(new Retired(name, generation + 1)));
        base.filter(name -> !newBase.equals(base))
                .ifPresent(name -> left.add(new Retired(name, generation + 1)));
        List<PackInfo> packs = recent.stream()
                .filter(pack -> !inBase.contains(pack.name()) && !gone.contains(pack.name()))
                .toList();
        return with(newBase, packs, left);
    }

    private Head with(Optional<ObjectName> newBase, List<PackInfo> packs, List<Retired> left) {
        return new Head(generation, nonce, boundary, candidate, newBase, packs, left, unknown);
    }

    /** Returns this state with the present generation as the next boundary. */
    public Head noted(long serverMillis) {
        return new Head(
                generation,
                nonce,
                boundary,
                Optional.of(new Candidate(generation, serverMillis)),
                base,
                recent,
                retired,
                unknown);
    }

    /** Returns this state with the candidate as the boundary, and without what left before it. */
    public Head advanced() {
        long to = candidate.orElseThrow().generation();
        return new Head(
                generation,
                nonce,
                to,
                Optional.empty(),
                base,
                recent,
                retired.stream().filter(one -> one.generation() > to).toList(),
                unknown);
    }

    byte[] encode() {
        JsonObject json = unknown.deepCopy();
        json.addProperty("format", FORMAT);
        json.addProperty("generation", generation);
        json.addProperty("nonce", nonce);
        json.addProperty("boundary", boundary);
        json.remove("candidate");
        candidate.ifPresent(one -> {
            JsonObject object = new JsonObject();
            object.addProperty("generation", one.generation());
            object.addProperty("since", one.sinceMillis());
            json.add("candidate", object);
        });
        json.remove("base");
        base.ifPresent(name -> json.addProperty("base", name.toString()));
        JsonArray packs = new JsonArray();
        recent.forEach(pack -> packs.add(pack.json()));
        json.add("recent", packs);
        JsonArray left = new JsonArray();
        retired.forEach(one -> {
            JsonObject object = new JsonObject();
            object.addProperty("name", one.name().toString());
            object.addProperty("generation", one.generation());
            left.add(object);
        });
        json.add("retired", left);
        return JSON.toJson(json).getBytes(UTF_8);
    }

    /** Decodes an object with arbitrary content. */
    static Head decode(byte[] bytes) throws RegisterException {
        try {
            JsonObject json = JsonParser.parseString(new String(bytes, UTF_8)).getAsJsonObject();
            int format = json.get("format").getAsInt();
            if (format > FORMAT) {
                throw RegisterException.unusable(
                        "a newer version of Granary wrote the head: format " + format);
            }
            Head head = new Head(
                    json.get("generation").getAsLong(),
                    json.get("nonce").getAsString(),
                    json.get("boundary").getAsLong(),
                    Optional.ofNullable(json.get("candidate")).map(Head::candidate),
                    Optional.ofNullable(json.get("base")).map(Head::name),
                    json.getAsJsonArray("recent").asList().stream()
                            .map(PackInfo::of)
                            .toList(),
                    json.getAsJsonArray("retired").asList().stream()
                            .map(Head::retired)
                            .toList(),
                    json);
            if (format < FORMAT || head.generation < head.boundary || head.boundary < 0) {
                throw new IllegalArgumentException("Not a head");
            }
            return head;
        } catch (RuntimeException e) { // arbitrary content
            throw RegisterException.loss("the object is no head: is this an S3 server?");
        }
    }

    private static Candidate candidate(JsonElement element) {
        JsonObject json = element.getAsJsonObject();
        return new Candidate(
                json.get("generation").getAsLong(), json.get("since").getAsLong());
    }

    private static Retired retired(JsonElement element) {
        JsonObject json = element.getAsJsonObject();
        return new Retired(name(json.get("name")), json.get("generation").getAsLong());
    }

    private static ObjectName name(JsonElement element) {
        return ObjectName.parse(element.getAsString()).orElseThrow();
    }
}
