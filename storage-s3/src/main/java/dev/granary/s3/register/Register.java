package dev.granary.s3.register;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.cache.Sha256;
import dev.granary.cache.support.Ticker;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.layout.ObjectName;
import dev.granary.s3.layout.TargetLayout;
import dev.granary.s3.pack.format.PackInfo;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * The register of one target: a compare-and-swap on its {@link Head}. Thread-safe.
 *
 * <p>Writers need a server with exact conditional writes.
 *
 * @param store the bucket
 * @param keys the keys of the target
 * @param random source of nonces and pauses
 * @param ticker the clock, which also waits
 */
public record Register(
        ObjectStore store, TargetLayout keys, RandomGenerator random, Ticker ticker) {
    /** The time after which a swap ends, however many other writers were faster. */
    private static final Duration LIMIT = Duration.ofMinutes(5);

    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final int MAX_DOUBLINGS = 7;

    /** The number of successive requests without an answer after which a swap ends. */
    private static final int MAX_FAILURES = 5;

    /** The number of attempts at writing an immutable object. */
    private static final int MAX_WRITES = 3;

    /**
     * A head in the bucket.
     *
     * @param head the head
     * @param etag its version
     * @param serverMillis when it was read, by the server's clock, in milliseconds since 1970; 0 if
     *     unknown
     */
    public record Stored(Head head, String etag, long serverMillis) {}

    /** Reads the head; empty if there is none. */
    public Optional<Stored> read() throws RegisterException {
        return stored(get());
    }

    private GetResult get() {
        return store.get(keys.head(), Head.MAX_BYTES);
    }

    /**
     * Reads the head, unless it is the known version.
     *
     * @return {@code known} if the head has not changed; empty if there is none
     */
    public Optional<Stored> readIfChanged(Stored known) throws RegisterException {
        Optional<GetResult> changed = store.getIfChanged(keys.head(), known.etag(), Head.MAX_BYTES);
        return changed.isEmpty() ? Optional.of(known) : stored(changed.get());
    }

    private static Optional<Stored> stored(GetResult read) throws RegisterException {
        return switch (read) {
            case GetResult.Found found ->
                Optional.of(new Stored(
                        Head.decode(bytes(found.bytes())),
                        found.etag(),
                        found.dates().nowMillis()));
            case GetResult.Absent _ -> Optional.empty();
            case GetResult.TooLarge _ -> throw RegisterException.loss("the head is too large");
            case GetResult.Unavailable(StoreFailure failure) ->
                throw RegisterException.of("the head cannot be read", failure);
        };
    }

    /** Reads the head, and creates it if there is none. */
    public Stored readOrCreate() throws RegisterException {
        for (int attempt = 0; attempt < MAX_FAILURES; attempt++) {
            GetResult read = get();
            Optional<Stored> there = stored(read);
            if (there.isPresent()) {
                return there.get();
            }
            Head first = first(((GetResult.Absent) read).serverMillis());
            WriteResult created = store.putIfAbsent(keys.head(), first.encode());
            switch (created) {
                case WriteResult.Done(String etag) -> {
                    return new Stored(first, etag, first.generation());
                }
                case WriteResult.NotAllowed(StoreFailure failure) ->
                    throw RegisterException.of("the head cannot be created", failure);
                case WriteResult.NotSent(StoreFailure failure) ->
                    throw RegisterException.of("the head cannot be created", failure);
                case WriteResult.PreconditionFailed _,
                        WriteResult.Conflict _,
                        WriteResult.Unknown _ -> pause(attempt);
            }
        }
        throw RegisterException.unusable(
                "the head could not be created: the server does not answer clearly");
    }

    /**
     * Reads the head, or creates it, and replaces one that two reads show as damaged by an empty
     * one. For a person who asks for it: the head then names no pack.
     */
    public Stored readOrReplace() throws RegisterException {
        HeadResult before = store.head(keys.head()); // first: a head that changes does not match it
        RegisterException damage;
        int reads = 0;
        do {
            try {
                return readOrCreate();
            } catch (RegisterException e) {
                if (!e.isLoss() || !(before instanceof HeadResult.Found)) {
                    throw e;
                }
                damage = e;
            }
        } while (++reads < 2);
        HeadResult.Found found = (HeadResult.Found) before;
        Head first = first(found.dates().nowMillis());
        if (store.replaceIfMatch(keys.head(), found.etag(), first.encode())
                instanceof WriteResult.Done(String etag)) {
            return new Stored(first, etag, first.generation());
        }
        throw damage;
    }

    /** Returns the first head; its generation must be above every name of a removed register. */
    private Head first(long serverMillis) throws RegisterException {
        if (serverMillis == 0) {
            throw RegisterException.unusable("the server sends no date");
        }
        return Head.first(serverMillis, nonce());
    }

    /**
     * Replaces the head by what {@code change} makes of it, again and again until no other writer
     * was faster. The function may be called any number of times, each time with the head of that
     * moment.
     *
     * @param known a head read before, which saves a request; empty to read it
     */
    public SwapResult swap(Optional<Stored> known, Function<Head, Change> change) {
        long end = ticker.nanos() + LIMIT.toNanos();
        Optional<StoreFailure> unanswered = Optional.empty();
        Optional<Stored> seen = known;
        int failures = 0;
        for (int attempt = 0; ticker.nanos() - end < 0; attempt++) {
            try {
                Stored now = seen.isPresent() ? seen.get() : readOrCreate();
                switch (change.apply(now.head())) {
                    case Change.Nothing _ -> {
                        return new SwapResult.Done(now, false);
                    }
                    case Change.GiveUp(String cause) -> {
                        return new SwapResult.GaveUp(now, cause);
                    }
                    case Change.Next(Head head) -> {
                        Head next = head.next(nonce());
                        byte[] encoded = next.encode();
                        if (encoded.length > Head.MAX_BYTES) { // readers refuse it
                            return ended(
                                    "the head would be larger than " + Head.MAX_BYTES + " bytes",
                                    unanswered);
                        }
                        switch (store.replaceIfMatch(keys.head(), now.etag(), encoded)) {
                            case WriteResult.Done(String etag) -> {
                                return new SwapResult.Done(
                                        new Stored(next, etag, now.serverMillis()), true);
                            }
                            case WriteResult.NotAllowed(StoreFailure failure) -> {
                                return ended("the head cannot be replaced: " + failure, unanswered);
                            }
                            case WriteResult.NotSent(StoreFailure failure) -> {
                                return ended("the head cannot be replaced: " + failure, unanswered);
                            }
                            case WriteResult.Unknown(StoreFailure failure) -> {
                                unanswered = Optional.of(failure);
                                failures++;
                            }
                            case WriteResult.PreconditionFailed _, WriteResult.Conflict _ ->
                                failures = 0;
                        }
                    }
                }
            } catch (RegisterException e) {
                failures++;
                if (!e.isTransient() || failures >= MAX_FAILURES) {
                    return ended(String.valueOf(e.getMessage()), unanswered);
                }
            }
            if (failures >= MAX_FAILURES || Thread.currentThread().isInterrupted()) {
                return ended(
                        failures == 0
                                ? "interrupted while other writers were faster"
                                : "the server does not answer",
                        unanswered);
            }
            seen = Optional.empty();
            pause(attempt);
        }
        return ended("other writers were faster for " + LIMIT.toMinutes() + " minutes", unanswered);
    }

    private static SwapResult ended(String cause, Optional<StoreFailure> unanswered) {
        return unanswered.isEmpty()
                ? new SwapResult.Failed(cause)
                : new SwapResult.Unknown(cause + ", after " + unanswered.get());
    }

    /** Waits for a random time of at most 100 ms, doubled with each attempt up to 13 s. */
    private void pause(int attempt) {
        ticker.pauseQuietly(Duration.ofNanos(
                1 + random.nextLong(FIRST_PAUSE.toNanos() << Math.min(attempt, MAX_DOUBLINGS))));
    }

    private String nonce() {
        return BucketLayout.randomName(random);
    }

    /** Reads a base. */
    public Base readBase(ObjectName name) throws RegisterException {
        return switch (store.get(keys.base(name), Base.MAX_BYTES)) {
            case GetResult.Found found -> Base.decode(name, bytes(found.bytes()));
            case GetResult.Absent _ ->
                throw RegisterException.loss("the base " + name + " is missing");
            case GetResult.TooLarge _ ->
                throw RegisterException.loss("the base " + name + " is too large");
            case GetResult.Unavailable(StoreFailure failure) ->
                throw RegisterException.of("the base cannot be read", failure);
        };
    }

    /** Reads the head, and returns all packs that it names; none if there is no head. */
    public List<PackInfo> packs() throws RegisterException {
        Optional<Stored> stored = read();
        return stored.isEmpty() ? List.of() : packs(stored.get().head());
    }

    /** Returns all packs that a head names, those of its base last. */
    public List<PackInfo> packs(Head head) throws RegisterException {
        List<PackInfo> folded =
                head.base().isEmpty() ? List.of() : readBase(head.base().get()).packs();
        return Stream.concat(head.recent().stream(), folded.stream()).toList();
    }

    /** Writes a base with these packs, and returns its name. */
    public ObjectName writeBase(long generation, List<PackInfo> packs) throws RegisterException {
        Base base = Base.of(generation, packs);
        if (base.encoded().length > Base.MAX_BYTES) { // readers refuse it
            throw RegisterException.unusable("the base of " + packs.size()
                    + " packs would be larger than " + Base.MAX_BYTES + " bytes");
        }
        Optional<StoreFailure> failure = writeImmutable(keys.base(base.name()), base.encoded());
        if (failure.isPresent()) {
            throw RegisterException.of("the base cannot be written", failure.get());
        }
        return readBase(base.name()).name(); // a server that dropped it would cost all its packs
    }

    /**
     * Writes a pack or base, whose name has the hash of its content. An existing one is this
     * object, from a request whose response was lost, or from another writer of the same content.
     *
     * @return the failure; empty if the server answered that the object is there
     */
    public Optional<StoreFailure> writeImmutable(String key, byte[] body) {
        StoreFailure failure = StoreFailure.of(
                StoreFailure.Kind.SERVER, "the server reports that it exists, and lacks it");
        for (int attempt = 1; attempt <= MAX_WRITES; attempt++) {
            switch (store.putIfAbsent(key, body)) {
                case WriteResult.Done _ -> {
                    return Optional.empty();
                }
                case WriteResult.NotAllowed(StoreFailure refusal) -> {
                    return Optional.of(refusal);
                }
                case WriteResult.NotSent(StoreFailure unsent) -> {
                    return Optional.of(unsent);
                }
                case WriteResult.Unknown(StoreFailure lost) -> failure = lost;
                case WriteResult.Conflict _ -> {}
                case WriteResult.PreconditionFailed _ -> {
                    if (store.head(key) instanceof HeadResult.Found found
                            && found.bytes() == body.length) {
                        return Optional.empty();
                    }
                }
            }
            if (attempt < MAX_WRITES) {
                ticker.pauseQuietly(FIRST_PAUSE.multipliedBy(attempt));
            }
        }
        return Optional.of(failure);
    }

    /** Encodes a head with its version and a hash of both, for the local disk. */
    public static byte[] encode(Stored stored) {
        String head = new String(stored.head().encode(), UTF_8);
        String content = stored.etag() + "\n" + head;
        return (hash(content) + "\n" + content).getBytes(UTF_8);
    }

    /** Decodes the result of {@link #encode}. */
    public static Stored decode(byte[] bytes) throws RegisterException {
        String[] lines = new String(bytes, UTF_8).split("\n", 3);
        if (lines.length < 3 || !lines[0].equals(hash(lines[1] + "\n" + lines[2]))) {
            throw RegisterException.loss("the local copy of the head is damaged");
        }
        return new Stored(Head.decode(lines[2].getBytes(UTF_8)), lines[1], 0);
    }

    private static String hash(String content) {
        return Sha256.of(content.getBytes(UTF_8)).hex();
    }

    private static byte[] bytes(MemorySegment segment) {
        return segment.toArray(ValueLayout.JAVA_BYTE);
    }
}
