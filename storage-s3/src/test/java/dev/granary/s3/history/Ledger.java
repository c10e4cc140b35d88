package dev.granary.s3.history;

import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Sha256;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.TestProcess;
import dev.granary.s3.config.S3Config;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.PackInspector;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.register.Base;
import dev.granary.s3.register.Head;
import dev.granary.s3.register.Register;
import dev.granary.s3.register.RegisterException;

import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/**
 * Ledger of the entries that were acknowledged and not removed since, and of the heads. Observes
 * each change of the bucket, and verifies the invariants of the register:
 *
 * <ul>
 *   <li>I1: each head is made from the one before, or begins a new register above the old one.
 *   <li>I2: a head names what was written before. No process deletes what the head names.
 *   <li>I3: a name that left a head never comes back.
 *   <li>I4: no head names anything new below its boundary or above its generation.
 *   <li>I5: a process with an empty directory finds each acknowledged entry.
 * </ul>
 */
final class Ledger {
    private final Bucket bucket;
    private final S3Config config;
    private final TargetLayout keys;
    private final boolean someMayNotList;
    private final Map<Id, Ack> acknowledged = new LinkedHashMap<>();
    private final Map<Id, Integer> removedAt = new HashMap<>();
    private final Map<Id, Set<Sha256>> contents = new HashMap<>();
    // by key, of all packs that were ever written
    private final Map<String, Set<Sha256>> idsOfPacks = new HashMap<>();
    private final Map<ObjectName, List<PackInfo>> bases = new HashMap<>(); // ever written
    private final Set<String> touched = new HashSet<>(); // keys that no process changed last
    private Optional<Head> head = Optional.empty();
    private Set<ObjectName> named = Set.of(); // by that head
    private final Set<ObjectName> left = new HashSet<>();
    private final Map<String, Note> notes = new HashMap<>(); // by key
    private final Map<String, Set<Id>> pins = new HashMap<>(); // by key
    private long highest; // generation of a head
    private int removals;
    private int verifiedVersion = -1;
    private boolean wasConditionIgnored;

    /**
     * An acknowledgement.
     *
     * @param writtenSinceMillis when the task began that wrote the entry; 0 if it was there
     */
    record Ack(long atMillis, String source, boolean isEarly, long writtenSinceMillis) {}

    /** The ids of a note of use. */
    private record Note(LocalDate day, Set<Id> ids) {}

    Ledger(Bucket bucket, S3Config config, String namespace, boolean someMayNotList) {
        this.bucket = bucket;
        this.config = config;
        this.keys = new BucketLayout(config.location()).target(namespace);
        this.someMayNotList = someMayNotList;
    }

    TargetLayout keys() {
        return keys;
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

    // ---- changes by processes

    /** Records that a process has written an object. */
    void written(String key, byte[] body) {
        touched.remove(key);
        if (key.equals(keys.head())) {
            headWritten();
        } else if (keys.packName(key).isPresent()) {
            idsOfPacks.put(key, new HashSet<>(PackInspector.ids(body, keys.namespace())));
        } else {
            keys.baseName(key).ifPresent(name -> bases.put(name, packs(name, body)));
        }
    }

    private static List<PackInfo> packs(ObjectName name, byte[] body) {
        try {
            return Base.decode(name, body).packs();
        } catch (RegisterException e) {
            throw new IllegalStateException("A process has written a bad base", e);
        }
    }

    private void headWritten() {
        Head next = storedHead().orElseThrow(() -> new IllegalStateException("A bad head"));
        Set<ObjectName> names = names(next);
        if (head.isEmpty() && next.generation() <= highest) {
            // its writer saw no head before the one that was removed, and was suspended since
            conditionIgnored(keys.head());
        }
        if (!wasConditionIgnored) {
            verifyLine(next);
            names.stream().filter(name -> !named.contains(name)).forEach(name -> {
                verifyNew(next, name);
            });
        }
        named.stream().filter(name -> !names.contains(name)).forEach(left::add);
        head = Optional.of(next);
        named = names;
        highest = Math.max(highest, next.generation());
        touched.remove(keys.head());
    }

    private void verifyLine(Head next) {
        boolean isNext = head.isPresent()
                && next.generation() == head.get().generation() + 1
                && next.boundary() >= head.get().boundary()
                && !next.nonce().equals(head.get().nonce());
        boolean isNew = (head.isEmpty() || touched.contains(keys.head()))
                && next.generation() > highest
                && next.boundary() == next.generation()
                && names(next).isEmpty();
        if (!isNext && !isNew) {
            throw new Violation(
                    Shape.I1_NOT_A_LINE,
                    describe(next) + " after " + head.map(Ledger::describe).orElse("none") + ", "
                            + highest);
        }
    }

    private void verifyNew(Head next, ObjectName name) {
        String key = key(name);
        if (left.contains(name)) {
            throw new Violation(Shape.I3_NAME_RETURNS, shorten(key) + " in " + describe(next));
        }
        if (!next.admits(name)) {
            throw new Violation(Shape.I4_BELOW_BOUNDARY, shorten(key) + " in " + describe(next));
        }
        if (bucket.stored(key).isEmpty() && !touched.contains(key)) {
            throw new Violation(Shape.I2_NAMED_AND_MISSING, shorten(key) + " in " + describe(next));
        }
    }

    /** Returns all packs and the base that a head names. */
    private Set<ObjectName> names(Head of) {
        Set<ObjectName> names = new HashSet<>();
        of.recent().forEach(pack -> names.add(pack.name()));
        of.base().ifPresent(base -> {
            names.add(base);
            bases.getOrDefault(base, List.of()).forEach(pack -> names.add(pack.name()));
        });
        return names;
    }

    private String key(ObjectName name) {
        return bases.containsKey(name) ? keys.base(name) : keys.pack(name);
    }

    private Optional<Head> storedHead() {
        try {
            return new Register(new FaultFreeStore(bucket, true), keys, () -> 0, Ticker.SYSTEM)
                    .read()
                    .map(Register.Stored::head);
        } catch (RegisterException e) {
            return Optional.empty();
        }
    }

    /** Records that a process has removed an object. */
    void removed(String key) {
        Optional<ObjectName> name = keys.packName(key).or(() -> keys.baseName(key));
        if (name.isEmpty()) {
            return;
        }
        boolean isNeeded = named.contains(name.get())
                || head.filter(one -> one.retires(name.get())).isPresent();
        if (isNeeded && !wasConditionIgnored) {
            throw new Violation(
                    Shape.I2_NAMED_AND_MISSING,
                    shorten(key) + " was removed, and " + describe(head.orElseThrow())
                            + " names or retires it");
        }
        if (isNeeded) {
            beforeRemoval(key);
        }
    }

    /** Records that a note of use is in the bucket. */
    void noted(String key, LocalDate day, Set<Id> ids) {
        notes.put(key, new Note(day, ids));
    }

    /** Records that a pin is in the bucket. */
    void pinned(String key, Set<Id> ids) {
        pins.put(key, ids);
    }

    /** Records that a pin is, or is about to be, removed. */
    void unpinned(String key) {
        pins.remove(key);
    }

    /** Returns the ids that pins name. */
    Set<Id> pinned() {
        return pins.values().stream().flatMap(Set::stream).collect(Collectors.toSet());
    }

    /** Returns the ids that notes of a day or later name. */
    Set<Id> usedSince(LocalDate day) {
        return notes.values().stream()
                .filter(note -> !note.day().isBefore(day))
                .flatMap(note -> note.ids().stream())
                .collect(Collectors.toSet());
    }

    /** Returns the ids of which the bucket has a copy that was written since then. */
    Set<Id> writtenSince(long millis) {
        Set<Sha256> young = new HashSet<>();
        bucket.objects().forEach((key, stored) -> {
            if (stored.writtenMillis() > millis) {
                young.addAll(
                        keys.packName(key).filter(named::contains).isPresent()
                                ? idsOfPacks.getOrDefault(key, Set.of())
                                : Set.of());
                contents.keySet().stream()
                        .map(Id::hash)
                        .filter(hash -> key.equals(keys.entry(hash)))
                        .forEach(young::add);
            }
        });
        return ids().stream().filter(id -> young.contains(id.hash())).collect(Collectors.toSet());
    }

    /** Returns all ids. */
    Set<Id> ids() {
        return contents.keySet();
    }

    /** Returns those of these ids that no task has written that began after a time. */
    Set<Id> notWrittenSince(Set<Id> ids, long millis) {
        return ids.stream()
                .filter(id -> acknowledged(id)
                        .filter(ack -> ack.writtenSinceMillis() > millis)
                        .isEmpty())
                .collect(Collectors.toSet());
    }

    /** Withdraws entries that a process leaves out on purpose. */
    void withdraw(Collection<Id> ids) {
        if (!ids.isEmpty()) {
            removals++;
            ids.forEach(this::forget);
        }
    }

    /**
     * Withdraws all entries, since the server has ignored the condition of a request that did not
     * hold: a head may have lost packs.
     */
    void conditionIgnored(String key) {
        wasConditionIgnored = true;
        withdraw(contents.keySet());
        touched.add(key);
    }

    // ---- changes by others

    /**
     * Returns false for an object that others do not change, since no process could know it in
     * time: a pack or base that a process has written and is about to name.
     */
    boolean mayBeTouched(String key) {
        return keys.packName(key)
                .or(() -> keys.baseName(key))
                .filter(name -> !named.contains(name) && !left.contains(name))
                .isEmpty();
    }

    /** Withdraws the acknowledgement of an object's entries, before others change or remove it. */
    void beforeRemoval(String key) {
        removals++;
        touched.add(key);
        notes.remove(key); // a damaged pin, however, ends each collection
        if (keys.packName(key).isPresent()) {
            forget(idsOfPacks.getOrDefault(key, Set.of()));
        } else if (key.equals(keys.head()) || keys.baseName(key).isPresent()) {
            idsOfPacks.values().forEach(this::forget);
        } else {
            contents.keySet().stream()
                    .filter(id -> key.endsWith(id.hash().hex()))
                    .toList()
                    .forEach(this::forget);
        }
    }

    /** Begins anew with the head in the bucket, after others have changed it. */
    void headChanged(boolean isSetBack) {
        left.addAll(named);
        if (isSetBack) {
            left.clear();
        }
        head = storedHead();
        named = head.map(this::names).orElse(Set.of());
        highest = Math.max(highest, head.map(Head::generation).orElse(0L));
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
        acknowledge(id, source, isEarly, 0);
    }

    /** As above; {@code writtenSinceMillis} is when the task began that wrote the entry. */
    void acknowledge(Id id, String source, boolean isEarly, long writtenSinceMillis) {
        acknowledged.put(id, new Ack(bucket.nowMillis(), source, isEarly, writtenSinceMillis));
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
            Ack ack = acknowledged.get(id);
            throw new Violation(
                    ack != null && ack.isEarly() ? Shape.REPORTED_BEFORE_WRITTEN : Shape.I5_LOST,
                    "a process with an empty directory" + (mayList ? "" : " that may not list")
                            + " does not find " + name(id) + ", acknowledged by: " + ack + "\n"
                            + describe(id));
        }
    }

    /** Returns the entries that a process with an empty directory does not find. */
    List<Id> lost(Set<Id> ids, boolean mayList) {
        List<Id> lost = new ArrayList<>();
        try (TestProcess reader = reader(mayList)) {
            for (Id id : ids) {
                if (!(reader.tier().load(id) instanceof LoadResult.Hit hit
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

    /** Returns the packs that the head names and that are missing or have another length. */
    List<String> namedAndMissing() {
        List<PackInfo> packs = new ArrayList<>();
        head.ifPresent(one -> {
            packs.addAll(one.recent());
            one.base().ifPresent(base -> packs.addAll(bases.getOrDefault(base, List.of())));
        });
        return packs.stream()
                .filter(pack -> bucket.stored(keys.pack(pack.name()))
                        .filter(stored -> stored.body().length == pack.bytes())
                        .isEmpty())
                .map(pack -> shorten(keys.pack(pack.name())))
                .toList();
    }

    /** Returns the number of packs that others removed or damaged; a compaction drops one. */
    int touchedPacks() {
        return (int)
                touched.stream().filter(key -> keys.packName(key).isPresent()).count();
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
            if (idsOfPacks.getOrDefault(key, Set.of()).contains(id.hash())) {
                text.append(", contains it");
            }
            stored.lie().ifPresent(lie -> text.append(", lie ").append(lie));
            text.append('\n');
        });
        return text.append("the head: ")
                .append(head.map(Ledger::describe).orElse("none"))
                .append(", named ")
                .append(named.stream().map(name -> shorten(key(name))).toList())
                .toString();
    }

    static String describe(Head of) {
        return "head " + of.generation() + " from " + of.boundary() + ", base "
                + of.base().map(name -> name.hash().hex().substring(0, 6)) + ", recent "
                + of.recent().stream().map(pack -> shorten("/p/" + pack.name())).toList()
                + ", retired "
                + of.retired().stream()
                        .map(one -> shorten("/p/" + one.name()) + "@" + one.generation())
                        .toList();
    }

    static String shorten(String key) {
        int at = key.lastIndexOf('/');
        String name = key.substring(at + 1);
        if (key.contains("/e/")) {
            return "entry " + name.substring(0, Math.min(6, name.length()));
        }
        boolean isPack = key.contains("/p/");
        return (isPack || key.contains("/m/")) && name.length() > 24
                ? (isPack ? "pack " : "base ") + name.substring(17, 23)
                : name;
    }
}
