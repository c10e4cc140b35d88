package dev.granary.s3.history;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.format.EntryFormat;
import dev.granary.cache.format.VerificationLevel;
import dev.granary.s3.TestProcess;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.pack.PackInspector;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.pack.manifest.PackManifest;
import dev.granary.s3.pack.manifest.PackManifestLog;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Ledger of the entries that were acknowledged and not removed since. Observes each change of the
 * bucket, and verifies that a process with an empty directory finds all of them.
 */
final class Ledger {
    private final Bucket bucket;
    private final String namespace;
    private final S3Config config;
    private final boolean someMayNotList;
    private final Map<Id, Ack> acknowledged = new LinkedHashMap<>();
    private final Map<Id, Integer> removedAt = new HashMap<>();
    private final Map<Id, Set<Sha256>> contents = new HashMap<>();
    // by key, of all packs that were ever written
    private final Map<String, Set<Sha256>> idsOfPacks = new HashMap<>();
    // by key of the pack: the highest manifest that ever named it
    private final Map<String, Long> lastNamed = new HashMap<>();
    private final Map<String, Long> firstNamed = new HashMap<>(); // the lowest such manifest
    private final Map<String, Remover> removers = new HashMap<>();
    // by key, of packs that a compaction has written
    private final Set<String> repacked = new HashSet<>();
    private int removals;
    private boolean wasHintWritten;
    private long hintedBefore; // the number in the hint when it was last written
    private int verifiedVersion = -1;

    /** The component that has removed a pack. */
    enum Remover {
        PUBLISHER,
        COMPACTOR,
        OWNER
    }

    /** An acknowledgement, and the version of the bucket at that time. */
    record Ack(long atMillis, String source, boolean isEarly, int version) {}

    Ledger(Bucket bucket, S3Config config, String namespace, boolean someMayNotList) {
        this.bucket = bucket;
        this.config = config;
        this.namespace = namespace;
        this.someMayNotList = someMayNotList;
    }

    /** Adds a content that an id may come to have. */
    void content(Entry entry) {
        contents.computeIfAbsent(entry.id(), _ -> new HashSet<>()).add(entry.contentHash());
    }

    /** Returns a mark for later removals. */
    int mark() {
        return removals;
    }

    boolean isRemovedSince(Id id, int mark) {
        return removedAt.getOrDefault(id, -1) > mark;
    }

    Optional<Ack> acknowledged(Id id) {
        return Optional.ofNullable(acknowledged.get(id));
    }

    // ---- changes of the bucket

    /** Records that an object was written. */
    void written(String key, byte[] body, Remover by) {
        if (by == Remover.COMPACTOR && isPack(key)) {
            repacked.add(key);
        }
        if (key.equals(hintKey())) {
            wasHintWritten = true;
            long number = Long.parseLong(new String(body, US_ASCII));
            if (bucket.matching() != Bucket.Matching.HONORED && number < hintedBefore) {
                forgetNamedAfter(lastFrom(number));
            }
            hintedBefore = number;
        } else if (isPack(key)) {
            idsOfPacks.put(key, new HashSet<>(PackInspector.ids(body, namespace)));
            removers.remove(key);
        } else if (manifestNumber(key) > 0) {
            PackInspector.manifest(body).ifPresent(manifest -> manifest.packs().forEach(pack -> {
                lastNamed.merge(packKey(pack), manifest.number(), Math::max);
                firstNamed.merge(packKey(pack), manifest.number(), Math::min);
            }));
        }
    }

    /**
     * Returns false for objects that a history does not remove by hand, since no process could know
     * it in time. One is a pack of a compaction that has verified it and is about to name it.
     * Others are the hint and manifests while a process is running. If a request that began long
     * ago overwrites any hint, the hint and the later manifests are protected, too.
     */
    boolean mayBeRemoved(String key, boolean isAnyBusy) {
        if (isPack(key)) {
            return !repacked.contains(key) || lastNamed.containsKey(key);
        }
        if (!key.contains("/m/")) {
            return true;
        }
        return !isAnyBusy
                && (bucket.matching() == Bucket.Matching.HONORED
                        || manifestNumber(key) == newestNumber());
    }

    /** Records that a process has removed an object. */
    void removed(String key, Remover by) {
        if (isPack(key)) {
            removers.put(key, by);
        }
    }

    /**
     * Withdraws the acknowledgement of an object's entries, before the owner of the bucket or
     * damage removes it. An older manifest contains nothing that is needed, unless readers pass it:
     * from the one that the hint names to the newest.
     */
    void beforeRemoval(String key) {
        beforeRemoval(key, Long.MAX_VALUE);
    }

    /**
     * Withdraws acknowledgements before a lifecycle rule removes an object. An old manifest that it
     * removes is no loss. The hint was written with the newest manifest: entries older than both
     * have expired, though the rule may not have removed them yet.
     */
    void beforeExpiry(String key, long before) {
        beforeRemoval(key, before);
    }

    private void beforeRemoval(String key, long before) {
        boolean isByRule = before != Long.MAX_VALUE;
        removals++;
        if (isPack(key)) {
            removers.put(key, Remover.OWNER);
            forget(idsOfPacks.getOrDefault(key, Set.of()));
        } else if (key.endsWith("/m/newest")) {
            forgetPacked(before);
        } else if (manifestNumber(key) > 0) {
            boolean isOnTheWay = !isByRule
                    && hintedNumber()
                            .filter(number -> number <= manifestNumber(key))
                            .isPresent();
            if (manifestNumber(key) == newestNumber()
                    || manifestNumber(key) == visibleNumber()
                    || isOnTheWay) {
                forgetPacked(Long.MAX_VALUE);
            }
        } else {
            contents.keySet().stream()
                    .filter(id -> key.endsWith(id.hash().hex()))
                    .toList()
                    .forEach(this::forget);
        }
    }

    /** Withdraws entries of packs that were written before that time. */
    private void forgetPacked(long before) {
        Set<Sha256> packed = new HashSet<>();
        idsOfPacks.forEach((key, ids) -> {
            if (bucket.stored(key)
                    .filter(stored -> stored.writtenMillis() >= before)
                    .isEmpty()) {
                packed.addAll(ids);
            }
        });
        forget(packed);
    }

    /**
     * Withdraws entries of packs that only manifests with higher numbers have named. Without
     * conditional replacement, a request that began long ago may set the hint back to a chain from
     * before a rule removed the hint.
     */
    private void forgetNamedAfter(long number) {
        removals++;
        idsOfPacks.forEach((key, ids) -> {
            if (firstNamed.getOrDefault(key, 0L) > number) {
                forget(ids);
            }
        });
    }

    /** Returns the number of the last manifest that follows that number without a gap. */
    private long lastFrom(long number) {
        long last = number;
        while (isStored(last + 1)) {
            last++;
        }
        return last;
    }

    private void forget(Set<Sha256> ids) {
        contents.keySet().stream()
                .filter(id -> ids.contains(id.hash()))
                .toList()
                .forEach(this::forget);
    }

    private void forget(Id id) {
        acknowledged.remove(id);
        removedAt.put(id, removals);
    }

    // ---- verification

    /** Records an acknowledgement and verifies it. */
    void acknowledge(Id id, String source, boolean isEarly) {
        acknowledged.put(id, new Ack(bucket.nowMillis(), source, isEarly, bucket.version()));
        verify(Set.of(id));
    }

    /** Verifies that all acknowledged entries are found. */
    void verify() {
        if (verifiedVersion != bucket.version()) {
            verify(Set.copyOf(acknowledged.keySet()));
            verifiedVersion = bucket.version();
        }
    }

    private void verify(Set<Id> ids) {
        if (ids.isEmpty()) {
            return;
        }
        verify(ids, true);
        if (someMayNotList) {
            verify(ids, false);
        }
    }

    private void verify(Set<Id> ids, boolean mayList) {
        List<Id> lost = lost(ids, mayList);
        if (!lost.isEmpty()) {
            Id id = lost.getFirst();
            Shape shape = mayList ? shape(id) : Shape.B2_READER_WITHOUT_LISTING;
            throw new Violation(
                    shape,
                    "a process with an empty directory" + (mayList ? "" : " that may not list")
                            + " does not find " + name(id) + ", acknowledged by: "
                            + acknowledged.get(id) + "\n" + describe(id));
        }
    }

    /**
     * Returns the entries that a process with an empty directory does not find. Without conditional
     * replacement the hint may be set back, and a rule may then remove its manifest. Lookups are
     * then unavailable until the next publication, and report it.
     */
    List<Id> lost(Set<Id> ids, boolean mayList) {
        List<Id> lost = new ArrayList<>();
        try (TestProcess reader = reader(mayList)) {
            for (Id id : ids) {
                LoadResult result = reader.tier().load(id);
                boolean isReported = result instanceof LoadResult.Unavailable
                        && bucket.matching() != Bucket.Matching.HONORED
                        && isHintDangling();
                if (!isReported
                        && !(result instanceof LoadResult.Hit hit
                                && contents.getOrDefault(id, Set.of())
                                        .contains(hit.entry().contentHash()))) {
                    lost.add(id);
                }
            }
        }
        lost.sort((a, b) -> name(a).compareTo(name(b)));
        return lost;
    }

    private TestProcess reader(boolean mayList) {
        SplittableRandom random = new SplittableRandom(1);
        return new TestProcess(
                config,
                new FaultFreeStore(bucket, mayList),
                new TestProcess.Environment(
                        () -> bucket.nowMillis() * 1_000_000,
                        bucket::nowMillis,
                        (Duration _) -> {},
                        random,
                        _ -> {}));
    }

    private Shape shape(Id id) {
        Ack ack = acknowledged.get(id);
        if (newestManifest().unpackedEntries() == PackManifest.UnpackedEntries.NONE
                && bucket.stored(unpackedKey(id))
                        .filter(stored -> isSound(stored, id))
                        .isPresent()) {
            return Shape.B8_UNPACKED_IN_SEALED_TARGET;
        }
        if (!bucket.keepsMarks()) {
            return Shape.S4_METADATA_STRIPPED;
        }
        if (ack != null && ack.isEarly()) {
            return Shape.B11_REPORTED_BEFORE_WRITTEN;
        }
        if (ack != null
                && ack.source().endsWith("looked up")
                && bucket.version() == ack.version()) {
            return Shape.REPORTED_BY_LOOKUP;
        }
        if (isUnavailable(id)) {
            return Shape.LOOKUP_UNAVAILABLE;
        }
        Optional<Bucket.Stored> unpacked = bucket.stored(unpackedKey(id));
        boolean isUnpackedSound = unpacked.filter(stored -> isSound(stored, id)).isPresent();
        PackManifest newest = newestManifest();
        if (visibleNumber() != newest.number()) {
            return wasHintWritten ? Shape.B5_NEWEST_MANIFEST_NOT_FOUND : Shape.HINT_NEVER_CREATED;
        }
        for (PackInfo pack : newest.packs()) {
            String key = packKey(pack);
            if (idsOfPacks.getOrDefault(key, Set.of()).contains(id.hash()) && !isWhole(pack)) {
                return switch (removers.getOrDefault(key, Remover.OWNER)) {
                    case PUBLISHER -> Shape.B3_COMMITTED_PACK_REMOVED;
                    case COMPACTOR -> Shape.B9_NAMED_AFTER_REMOVAL;
                    case OWNER -> Shape.B1_PACK_NEVER_PUBLISHED_AGAIN;
                };
            }
        }
        if (unpacked.isPresent() && !isUnpackedSound) {
            return Shape.S3_DAMAGED_REPORTED_AS_STORED;
        }
        Set<String> named = new HashSet<>();
        newest.packs().forEach(pack -> named.add(packKey(pack)));
        for (Map.Entry<String, Set<Sha256>> pack : idsOfPacks.entrySet()) {
            if (pack.getValue().contains(id.hash())
                    && lastNamed.containsKey(pack.getKey())
                    && !named.contains(pack.getKey())
                    && (bucket.stored(pack.getKey()).isPresent()
                            || removers.get(pack.getKey()) != Remover.OWNER)) {
                return Shape.B4_COMMITTED_PACK_UNNAMED;
            }
        }
        return Shape.OTHER;
    }

    private boolean isUnavailable(Id id) {
        try (TestProcess reader = reader(true)) {
            return reader.tier().load(id) instanceof LoadResult.Unavailable;
        }
    }

    private boolean isWhole(PackInfo pack) {
        return bucket.stored(packKey(pack))
                .filter(stored -> stored.body().length == pack.bytes())
                .isPresent();
    }

    private boolean isSound(Bucket.Stored stored, Id id) {
        return EntryFormat.decode(
                        MemorySegment.ofArray(stored.body()), id, VerificationLevel.CONTENT_HASH)
                instanceof LoadResult.Hit;
    }

    private long visibleNumber() {
        return findVisible().map(PackManifest::number).orElse(-1L);
    }

    private Optional<PackManifest> findVisible() {
        try (TestProcess reader = reader(true)) {
            return reader.packed().manifests(namespace).newest(PackManifest.NONE)
                            instanceof PackManifestLog.Newest.Found(PackManifest found)
                    ? Optional.of(found)
                    : Optional.empty();
        }
    }

    /**
     * Returns the manifest that readers reach. Another one, of a writer that the hint does not lead
     * to, may have a higher number.
     */
    PackManifest visibleManifest() {
        return findVisible().orElse(PackManifest.NONE);
    }

    // ---- the manifests

    PackManifest newestManifest() {
        PackManifest newest = PackManifest.NONE;
        for (Map.Entry<String, Bucket.Stored> one : bucket.objects().entrySet()) {
            if (manifestNumber(one.getKey()) > newest.number()) {
                newest = PackInspector.manifest(one.getValue().body()).orElse(newest);
            }
        }
        return newest;
    }

    /** Returns the packs that the newest manifest names and that are missing or truncated. */
    List<String> namedAndMissing() {
        return visibleManifest().packs().stream()
                .filter(pack -> !isWhole(pack))
                .map(this::packKey)
                .toList();
    }

    /** Returns true if the hint names a manifest that is gone, and so leads to none. */
    boolean isHintDangling() {
        return hintedNumber()
                .filter(number -> number > 0 && !isStored(number) && !isStored(number + 1))
                .isPresent();
    }

    /** Returns the number in the hint; empty if there is none. */
    private Optional<Long> hintedNumber() {
        return bucket.stored(hintKey())
                .map(hint -> new String(hint.body(), US_ASCII))
                .filter(text -> text.matches("[0-9]{1,16}"))
                .map(Long::parseLong);
    }

    private boolean isStored(long number) {
        return bucket.objects().keySet().stream().anyMatch(key -> manifestNumber(key) == number);
    }

    private long newestNumber() {
        return bucket.objects().keySet().stream()
                .mapToLong(Ledger::manifestNumber)
                .max()
                .orElse(0);
    }

    private static long manifestNumber(String key) {
        int at = key.indexOf("/m/");
        return at < 0 || key.endsWith("newest") ? 0 : Long.parseLong(key.substring(at + 3));
    }

    private static boolean isPack(String key) {
        return key.endsWith(".pack");
    }

    private String packKey(PackInfo pack) {
        return "v1/" + namespace + "/p/" + pack.name().hex() + ".pack";
    }

    private String hintKey() {
        return "v1/" + namespace + "/m/newest";
    }

    private String unpackedKey(Id id) {
        String name = id.hash().hex();
        return "v1/" + namespace + "/e/" + name.substring(0, 2) + "/" + name;
    }

    static String name(Id id) {
        return id.hash().hex().substring(0, 6);
    }

    private String describe(Id id) {
        StringBuilder text = new StringBuilder("the bucket:\n");
        bucket.objects().forEach((key, stored) -> {
            text.append("  ")
                    .append(shorten(key))
                    .append(", ")
                    .append(stored.body().length)
                    .append(" bytes");
            if (isPack(key) && idsOfPacks.getOrDefault(key, Set.of()).contains(id.hash())) {
                text.append(", contains it");
            }
            if (manifestNumber(key) > 0) {
                PackInspector.manifest(stored.body())
                        .ifPresent(manifest -> text.append(", ").append(describe(manifest)));
            } else if (key.endsWith("newest")) {
                text.append(": ").append(new String(stored.body(), US_ASCII));
            }
            text.append('\n');
        });
        return text.append("readers see manifest ").append(visibleNumber()).toString();
    }

    static String describe(PackManifest manifest) {
        return "manifest " + manifest.number() + " "
                + (manifest.unpackedEntries() == PackManifest.UnpackedEntries.NONE ? "sealed " : "")
                + manifest.packs().stream()
                        .map(pack -> pack.name().hex().substring(0, 6))
                        .toList()
                + " retired "
                + manifest.retired().stream()
                        .map(one -> one.name().hex().substring(0, 6) + "@" + one.since())
                        .toList();
    }

    static String shorten(String key) {
        int at = key.lastIndexOf('/');
        String name = key.substring(at + 1);
        String kind = key.contains("/e/")
                ? "entry "
                : key.contains("/p/") ? "pack " : key.contains("/m/") ? "m/" : "";
        return kind
                + (name.endsWith("newest") || name.length() <= 16
                        ? name.replaceFirst("^0+", "")
                        : name.substring(0, 6));
    }
}
