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
import dev.granary.s3.pack.PackInfo;
import dev.granary.s3.pack.PackInspector;
import dev.granary.s3.pack.PackManifest;
import dev.granary.s3.pack.PackManifestLog;
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
 * Knows which entries were acknowledged and not removed since, looks on at each change of the bucket, and judges: what is acknowledged must be found
 * by a process with an empty directory.
 */
final class Ledger {
    private final Bucket bucket;
    private final String namespace;
    private final S3Config config;
    private final boolean someMayNotList;
    private final Map<Id, Ack> acknowledged = new LinkedHashMap<>();
    private final Map<Id, Integer> removedAt = new HashMap<>();
    private final Map<Id, Set<Sha256>> contents = new HashMap<>();
    private final Map<String, Set<Sha256>> idsOfPacks = new HashMap<>(); // by key, of packs that were ever written
    private final Map<String, Long> lastNamed = new HashMap<>(); // by key of the pack: the highest manifest that ever named it
    private final Map<String, Remover> removers = new HashMap<>();
    private final Set<String> repacked = new HashSet<>(); // by key, of packs that a compaction has written
    private int removals;
    private boolean wasHintWritten;
    private int judgedVersion = -1;

    /** Who has removed a pack. */
    enum Remover { PUBLISHER, COMPACTOR, OWNER }

    /** An acknowledgement, and the state of the bucket in which it was given. */
    record Ack(long atMillis, String said, boolean isEarly, int version) {}

    Ledger(Bucket bucket, S3Config config, String namespace, boolean someMayNotList) {
        this.bucket = bucket;
        this.config = config;
        this.namespace = namespace;
        this.someMayNotList = someMayNotList;
    }

    /** A content that an id may come to have. */
    void content(Entry entry) {
        contents.computeIfAbsent(entry.id(), _ -> new HashSet<>()).add(entry.contentHash());
    }

    /** A mark for what is removed from now on. */
    int mark() {
        return removals;
    }

    boolean isRemovedSince(Id id, int mark) {
        return removedAt.getOrDefault(id, -1) > mark;
    }

    Optional<Ack> acknowledged(Id id) {
        return Optional.ofNullable(acknowledged.get(id));
    }

    // ---- what happens to the bucket

    /** An object was written, by whomever. */
    void written(String key, byte[] body, Remover by) {
        if (by == Remover.COMPACTOR && isPack(key)) {
            repacked.add(key);
        }
        wasHintWritten |= key.endsWith("/m/newest");
        if (isPack(key)) {
            idsOfPacks.put(key, new HashSet<>(PackInspector.ids(body, namespace)));
            removers.remove(key);
        } else if (numberOf(key) > 0) {
            PackInspector.manifest(body).ifPresent(manifest ->
                    manifest.packs().forEach(pack -> lastNamed.merge(keyOfPack(pack), manifest.number(), Math::max)));
        }
    }

    /**
     * False for what nobody removes by hand in a history, since no process could know it in time: a pack of a compaction that has asked for it and is about
     * to name it; the hint and manifests while a process is under way; and, where a request that began long ago overwrites a hint of any version, the hint and
     * manifests that follow it.
     */
    boolean mayBeTaken(String key, boolean isAnybodyBusy) {
        if (isPack(key)) {
            return !repacked.contains(key) || lastNamed.containsKey(key);
        }
        if (!key.contains("/m/")) {
            return true;
        }
        return !isAnybodyBusy && (bucket.matching() == Bucket.Matching.KEPT || numberOf(key) == newestNumber());
    }

    /** A process has removed an object. */
    void removed(String key, Remover by) {
        if (isPack(key)) {
            removers.put(key, by);
        }
    }

    /**
     * The owner of the bucket, or damage takes an object away, before that happens: what it held is not acknowledged any more. An older
     * manifest holds nothing that anybody needs, but for one that readers pass on their way: from the one that the hint names to the newest.
     */
    void taken(String key) {
        taken(key, Long.MAX_VALUE);
    }

    /**
     * A rule takes an object away, before that happens. An old manifest that it removes is no loss but to what it holds. The hint was written with the
     * newest manifest, so what is older than both has had its time, though the rule may not have come to it yet; what is younger has not.
     */
    void takenByRule(String key, long before) {
        taken(key, before);
    }

    private void taken(String key, long before) {
        boolean isByRule = before != Long.MAX_VALUE;
        removals++;
        if (isPack(key)) {
            removers.put(key, Remover.OWNER);
            forget(idsOfPacks.getOrDefault(key, Set.of()));
        } else if (key.endsWith("/m/newest")) {
            forgetPacked(before);
        } else if (numberOf(key) > 0) {
            boolean isOnTheWay = !isByRule && hinted().filter(number -> number <= numberOf(key)).isPresent();
            if (numberOf(key) == newestNumber() || numberOf(key) == seenNumber() || isOnTheWay) {
                forgetPacked(Long.MAX_VALUE);
            }
        } else {
            contents.keySet().stream().filter(id -> key.endsWith(id.hash().hex())).toList().forEach(this::forget);
        }
    }

    /** Forgets what lies in packs that were written before that time. */
    private void forgetPacked(long before) {
        Set<Sha256> packed = new HashSet<>();
        idsOfPacks.forEach((key, ids) -> {
            if (bucket.stored(key).filter(stored -> stored.writtenMillis() >= before).isEmpty()) {
                packed.addAll(ids);
            }
        });
        forget(packed);
    }

    private void forget(Set<Sha256> ids) {
        contents.keySet().stream().filter(id -> ids.contains(id.hash())).toList().forEach(this::forget);
    }

    private void forget(Id id) {
        acknowledged.remove(id);
        removedAt.put(id, removals);
    }

    // ---- judging

    /** "Published" or "there already" was said: so it must be. */
    void acknowledge(Id id, String said, boolean isEarly) {
        acknowledged.put(id, new Ack(bucket.nowMillis(), said, isEarly, bucket.version()));
        judge(Set.of(id));
    }

    /** All that is acknowledged must be found. */
    void judge() {
        if (judgedVersion != bucket.version()) {
            judge(Set.copyOf(acknowledged.keySet()));
            judgedVersion = bucket.version();
        }
    }

    private void judge(Set<Id> ids) {
        if (ids.isEmpty()) {
            return;
        }
        judge(ids, true);
        if (someMayNotList) {
            judge(ids, false);
        }
    }

    private void judge(Set<Id> ids, boolean mayList) {
        List<Id> lost = lost(ids, mayList);
        if (!lost.isEmpty()) {
            Id id = lost.getFirst();
            Shape shape = mayList ? shape(id) : Shape.B2_READER_WITHOUT_LISTING;
            throw new Violation(shape, "a process with an empty directory" + (mayList ? "" : " that may not list") + " does not find " + name(id)
                    + ", of which was said: " + acknowledged.get(id) + "\n" + describe(id));
        }
    }

    /**
     * Those that a process with an empty directory does not find. A hint that went back, as it may where versions are not replaced, and whose manifest a rule
     * has taken then, makes look-ups unavailable until the next publication, which is told.
     */
    List<Id> lost(Set<Id> ids, boolean mayList) {
        List<Id> lost = new ArrayList<>();
        try (TestProcess reader = reader(mayList)) {
            for (Id id : ids) {
                LoadResult result = reader.tier().load(id);
                boolean isTold = result instanceof LoadResult.Unavailable && bucket.matching() != Bucket.Matching.KEPT && isHintAstray();
                if (!isTold && !(result instanceof LoadResult.Hit hit && contents.getOrDefault(id, Set.of()).contains(hit.entry().contentHash()))) {
                    lost.add(id);
                }
            }
        }
        lost.sort((a, b) -> name(a).compareTo(name(b)));
        return lost;
    }

    private TestProcess reader(boolean mayList) {
        SplittableRandom random = new SplittableRandom(1);
        return new TestProcess(config, new HonestStore(bucket, mayList),
                new TestProcess.Environment(() -> bucket.nowMillis() * 1_000_000, bucket::nowMillis, (Duration _) -> {}, random, _ -> {}));
    }

    private Shape shape(Id id) {
        Ack ack = acknowledged.get(id);
        if (newestManifest().loose() == PackManifest.Loose.NONE && bucket.stored(keyAlone(id)).filter(stored -> isSound(stored, id)).isPresent()) {
            return Shape.B8_ALONE_IN_SEALED_TARGET;
        }
        if (!bucket.keepsMarks()) {
            return Shape.S4_METADATA_STRIPPED;
        }
        if (ack != null && ack.isEarly()) {
            return Shape.B11_SAID_BEFORE_WRITTEN;
        }
        if (ack != null && ack.said().endsWith("looked up") && bucket.version() == ack.version()) {
            return Shape.SAID_BY_LOOK_UP;
        }
        if (isUnavailable(id)) {
            return Shape.LOOK_UP_UNAVAILABLE;
        }
        Optional<Bucket.Stored> alone = bucket.stored(keyAlone(id));
        boolean isSoundAlone = alone.filter(stored -> isSound(stored, id)).isPresent();
        PackManifest newest = newestManifest();
        if (seenNumber() != newest.number()) {
            return wasHintWritten ? Shape.B5_NEWEST_MANIFEST_NOT_FOUND : Shape.HINT_NEVER_CREATED;
        }
        for (PackInfo pack : newest.packs()) {
            String key = keyOfPack(pack);
            if (idsOfPacks.getOrDefault(key, Set.of()).contains(id.hash()) && !isWhole(pack)) {
                return switch (removers.getOrDefault(key, Remover.OWNER)) {
                    case PUBLISHER -> Shape.B3_COMMITTED_PACK_REMOVED;
                    case COMPACTOR -> Shape.B9_NAMED_AFTER_REMOVAL;
                    case OWNER -> Shape.B1_PACK_NEVER_PUBLISHED_AGAIN;
                };
            }
        }
        if (alone.isPresent() && !isSoundAlone) {
            return Shape.S3_DAMAGED_SAID_TO_BE_THERE;
        }
        Set<String> named = new HashSet<>();
        newest.packs().forEach(pack -> named.add(keyOfPack(pack)));
        for (Map.Entry<String, Set<Sha256>> pack : idsOfPacks.entrySet()) {
            if (pack.getValue().contains(id.hash()) && lastNamed.containsKey(pack.getKey()) && !named.contains(pack.getKey())
                    && (bucket.stored(pack.getKey()).isPresent() || removers.get(pack.getKey()) != Remover.OWNER)) {
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
        return bucket.stored(keyOfPack(pack)).filter(stored -> stored.body().length == pack.bytes()).isPresent();
    }

    private boolean isSound(Bucket.Stored stored, Id id) {
        return EntryFormat.decode(MemorySegment.ofArray(stored.body()), id, VerificationLevel.CONTENT_HASH) instanceof LoadResult.Hit;
    }

    private long seenNumber() {
        return seen().map(PackManifest::number).orElse(-1L);
    }

    private Optional<PackManifest> seen() {
        try (TestProcess reader = reader(true)) {
            return reader.packed().manifests(namespace).newest(PackManifest.NONE) instanceof PackManifestLog.Newest.Found(PackManifest found)
                    ? Optional.of(found) : Optional.empty();
        }
    }

    /** The manifest to which readers come. Another one may have a higher number: of a writer that found out that the hint leads elsewhere. */
    PackManifest seenManifest() {
        return seen().orElse(PackManifest.NONE);
    }

    // ---- the manifests

    PackManifest newestManifest() {
        PackManifest newest = PackManifest.NONE;
        for (Map.Entry<String, Bucket.Stored> one : bucket.objects().entrySet()) {
            if (numberOf(one.getKey()) > newest.number()) {
                newest = PackInspector.manifest(one.getValue().body()).orElse(newest);
            }
        }
        return newest;
    }

    /** Packs that the newest manifest names and that are not there, or not whole. */
    List<String> namedAndMissing() {
        return seenManifest().packs().stream().filter(pack -> !isWhole(pack)).map(this::keyOfPack).toList();
    }

    /** True if the hint names a manifest that is gone, and so does not lead to one. */
    boolean isHintAstray() {
        return hinted().filter(number -> number > 0 && !isStored(number) && !isStored(number + 1)).isPresent();
    }

    /** What the hint says; empty if it says no number. */
    private Optional<Long> hinted() {
        return bucket.stored(hintKey()).map(hint -> new String(hint.body(), US_ASCII)).filter(text -> text.matches("[0-9]{1,16}")).map(Long::parseLong);
    }

    private boolean isStored(long number) {
        return bucket.objects().keySet().stream().anyMatch(key -> numberOf(key) == number);
    }

    private long newestNumber() {
        return bucket.objects().keySet().stream().mapToLong(Ledger::numberOf).max().orElse(0);
    }

    private static long numberOf(String key) {
        int at = key.indexOf("/m/");
        return at < 0 || key.endsWith("newest") ? 0 : Long.parseLong(key.substring(at + 3));
    }

    private static boolean isPack(String key) {
        return key.endsWith(".pack");
    }

    private String keyOfPack(PackInfo pack) {
        return "v1/" + namespace + "/p/" + pack.name().hex() + ".pack";
    }

    private String hintKey() {
        return "v1/" + namespace + "/m/newest";
    }

    private String keyAlone(Id id) {
        String name = id.hash().hex();
        return "v1/" + namespace + "/e/" + name.substring(0, 2) + "/" + name;
    }

    static String name(Id id) {
        return id.hash().hex().substring(0, 6);
    }

    private String describe(Id id) {
        StringBuilder text = new StringBuilder("the bucket:\n");
        bucket.objects().forEach((key, stored) -> {
            text.append("  ").append(shorten(key)).append(", ").append(stored.body().length).append(" bytes");
            if (isPack(key) && idsOfPacks.getOrDefault(key, Set.of()).contains(id.hash())) {
                text.append(", has it");
            }
            if (numberOf(key) > 0) {
                PackInspector.manifest(stored.body()).ifPresent(manifest -> text.append(", ").append(describe(manifest)));
            } else if (key.endsWith("newest")) {
                text.append(": ").append(new String(stored.body(), US_ASCII));
            }
            text.append('\n');
        });
        return text.append("readers see manifest ").append(seenNumber()).toString();
    }

    static String describe(PackManifest manifest) {
        return "manifest " + manifest.number() + " " + (manifest.loose() == PackManifest.Loose.NONE ? "sealed " : "")
                + manifest.packs().stream().map(pack -> pack.name().hex().substring(0, 6)).toList()
                + " retired " + manifest.retired().stream().map(one -> one.name().hex().substring(0, 6) + "@" + one.since()).toList();
    }

    static String shorten(String key) {
        int at = key.lastIndexOf('/');
        String name = key.substring(at + 1);
        String kind = key.contains("/e/") ? "alone " : key.contains("/p/") ? "pack " : key.contains("/m/") ? "m/" : "";
        return kind + (name.endsWith("newest") || name.length() <= 16 ? name.replaceFirst("^0+", "") : name.substring(0, 6));
    }
}
