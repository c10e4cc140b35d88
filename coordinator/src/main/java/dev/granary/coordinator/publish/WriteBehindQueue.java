package dev.granary.coordinator.publish;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.Deadline;
import dev.granary.cache.Entry;
import dev.granary.cache.EntryMetadata;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.LoadResult;
import dev.granary.cache.Primitive;
import dev.granary.cache.StoreResult;
import dev.granary.cache.format.EntrySigner;
import dev.granary.cache.support.Lazy;
import dev.granary.cache.support.TaskQueue;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.event.GranaryListener.PublicationListener;
import dev.granary.coordinator.machine.MachineClaims.Claim;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.statistics.Counter;
import dev.granary.coordinator.tier.CountedTier;
import dev.granary.coordinator.tier.Found;
import dev.granary.coordinator.tier.Tiers;

import org.jspecify.annotations.Nullable;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Queue of the work after a lookup: taking complete binaries from the driver, storing them in the
 * local tier, and passing them to the {@link UploadQueue}. It has one thread and a bounded queue;
 * work that does not fit is counted as dropped. Thread-safe.
 */
public final class WriteBehindQueue implements AutoCloseable {
    private static final int QUEUE_LENGTH = 4096;

    /**
     * The largest number of primitives that may await their launches, since each keeps its program
     * in the driver. If there is one more, the binaries of the oldest are taken as they are.
     */
    public static final int MAX_INCOMPLETE = 1024;

    /** The name of this process in the metadata; resolving the host name may query a server. */
    private static final Lazy<String> PRODUCER =
            new Lazy<>(() -> host() + "/" + ProcessHandle.current().pid());

    private final CountedTier local;
    private final Tiers tiers;
    private final Optional<UploadQueue> uploads; // to the target of the tiers
    private final Counters counters;
    private final InstantSource clock;
    private final Optional<EntrySigner> signer;
    private final PublicationListener whenPublished;
    private final Set<Compiled> incomplete =
            Collections.synchronizedSet(new LinkedHashSet<>()); // iterated under its monitor
    private final TaskQueue tasks = new TaskQueue("granary-write-behind", 1, QUEUE_LENGTH);

    /**
     * A primitive whose binaries are to be stored.
     *
     * @param countedNanos the part of its compile time that is in the counters already
     * @param isUploaded whether the target gets the entry, too
     */
    private record Compiled(
            Primitive primitive,
            Optional<Duration> knownCompileTime,
            long countedNanos,
            boolean isUploaded,
            Claim claim) {
        Id id() {
            return primitive.descriptor().getId();
        }

        @Override
        public boolean equals(@Nullable Object other) { // never asks the program's primitive
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }
    }

    public WriteBehindQueue(
            Tiers tiers,
            Optional<UploadQueue> uploads,
            Counters counters,
            InstantSource clock,
            Optional<EntrySigner> signer,
            PublicationListener whenPublished) {
        this.local = tiers.local();
        this.tiers = tiers;
        this.uploads = uploads;
        this.counters = counters;
        this.clock = clock;
        this.signer = signer;
        this.whenPublished = whenPublished;
    }

    /**
     * Stores the binaries of a compiled primitive when they are complete, and closes the claim when
     * they are stored or will not be.
     *
     * @param countedNanos the part of the compile time that is in the counters already; the rest,
     *     such as that of a driver that compiles at the launch, is added later
     */
    public void compiled(Primitive primitive, long countedNanos, Claim claim) {
        storeWhenComplete(new Compiled(primitive, Optional.empty(), countedNanos, true, claim));
    }

    /**
     * Stores what the local tier lacks of a restored primitive, and closes the claim as
     * {@link #compiled} does. It is the entry of a layer, or the binaries that the driver returned
     * instead: it compiled again, or the entry is of another namespace. They are made of the entry,
     * so they are published only if it came from the target itself: no content gets from one layer
     * into another.
     */
    public void restored(Found<?> found, Claim claim) {
        Primitive primitive = found.primitive();
        Found.Stored stored = found.origin().orElseThrow();
        boolean isAnew = primitive.origin() == Primitive.Origin.RECOMPILED
                || (found.otherNamespace().isPresent()
                        && !primitive.getBinaries(BinaryKind.KERNEL).isEmpty());
        if (isAnew) {
            storeWhenComplete(new Compiled(
                    primitive,
                    Optional.of(stored.entry().compileTime()),
                    0,
                    tiers.target()
                            .filter(layer -> layer.tier() == stored.tier())
                            .isPresent(),
                    claim));
        } else if (stored.layer().isPresent()) {
            submit(new Task(this, () -> local.store(stored.entry()), claim, Optional.empty()));
        }
    }

    private void storeWhenComplete(Compiled compiled) {
        try {
            Optional<Compiled> overflow;
            synchronized (incomplete) {
                incomplete.add(compiled);
                overflow = incomplete.size() > MAX_INCOMPLETE
                        ? Optional.of(incomplete.iterator().next())
                        : Optional.empty();
            }
            compiled.primitive.onBinariesComplete(() -> takeBinaries(compiled));
            if (incomplete.contains(compiled)) {
                compiled.claim.awaitLaunch();
            }
            overflow.ifPresent(this::takeBinaries);
        } catch (Throwable e) {
            // an error too: the caller has a valid primitive, and needs no report
            incomplete.remove(compiled);
            compiled.claim.close();
            counters.increment(Counter.WITHOUT_BINARIES);
            Warnings.warn("binaries", "The binaries of a primitive cannot be taken: " + e);
            notStored(compiled.id(), e.toString());
        }
    }

    private List<Compiled> allIncomplete() {
        synchronized (incomplete) {
            return List.copyOf(incomplete);
        }
    }

    /** Queues the upload of a stored entry: that of the local tier, else that of the layers. */
    public void publish(Id id) {
        submit(new Task(this, () -> publishStored(id), Claim.NONE, Optional.of(id)));
    }

    private void publishStored(Id id) {
        UploadQueue target = uploads.orElseThrow();
        if (local.read(id) instanceof LoadResult.Hit(Entry entry)) {
            target.add(entry, StoreResult.DUPLICATE);
            return;
        }
        String absent = "no tier has returned the entry";
        tiers.search(List.of(id), Deadline.NONE, Optional::of)
                .ifPresentOrElse(
                        stored -> target.add(stored.entry(), new StoreResult.Failed(absent)),
                        () -> notStored(id, absent));
    }

    /**
     * Takes all binaries, which makes the driver complete them, and waits for all work in progress
     * until the deadline.
     *
     * @return true if nothing is left to do
     */
    public boolean flush(Deadline deadline) throws InterruptedException {
        allIncomplete().forEach(this::takeBinaries);
        do {
            if (!tasks.awaitIdle(deadline)
                    || (uploads.isPresent() && !uploads.get().awaitIdle(deadline))) {
                return false;
            }
        } while (tasks.size() > 0); // the result of an upload may lead to another one
        return true;
    }

    /**
     * Takes all binaries, and waits until they are stored in the local tier or until the deadline;
     * uploads are left.
     *
     * @return the number of entries that are not stored
     */
    public int flushLocal(Deadline deadline) throws InterruptedException {
        allIncomplete().forEach(this::takeBinaries);
        tasks.awaitIdle(deadline);
        return tasks.size();
    }

    /** Drops what has not started; its listeners are notified. */
    @Override
    public void close() {
        String cause = "the cache was closed before the entry was stored";
        tasks.drain().forEach(unstarted -> ((Task) unstarted).drop(cause));
        allIncomplete().forEach(this::takeBinaries); // which drops them
    }

    private void takeBinaries(Compiled compiled) {
        tasks.begin(); // a concurrent flush must see it as incomplete or in progress
        try {
            if (incomplete.remove(compiled)) {
                compiled.claim.launched();
                submit(new Task(
                        this,
                        () -> takeAndStore(compiled),
                        compiled.claim,
                        Optional.of(compiled.id())));
            }
        } finally {
            tasks.end();
        }
    }

    private void takeAndStore(Compiled compiled) {
        Primitive primitive = compiled.primitive;
        KernelBinaries binaries = primitive.getBinaries(BinaryKind.KERNEL);
        Id id = compiled.id();
        if (compiled.knownCompileTime.isEmpty()) {
            counters.add(
                    Counter.COMPILE_TIME,
                    Math.max(0, primitive.compileTime().toNanos() - compiled.countedNanos));
        }
        if (binaries.isEmpty()) {
            counters.increment(Counter.WITHOUT_BINARIES);
            notStored(id, "the driver returned no binaries");
            return;
        }
        Entry entry = Entry.of(
                id,
                binaries,
                compiled.knownCompileTime.orElseGet(primitive::compileTime),
                new EntryMetadata(
                        GranaryConfig.VERSION,
                        PRODUCER.get(),
                        clock.instant(),
                        primitive.kernels(),
                        primitive.geometries(),
                        primitive.descriptor().readableKey()));
        if (signer.isPresent() && compiled.knownCompileTime.isEmpty()) { // compiled by this process
            entry = signer.get().sign(entry);
        }
        StoreResult inLocalTier = local.store(entry);
        compiled.claim.close(); // other processes need not wait for the upload
        if (compiled.isUploaded && uploads.isPresent()) {
            uploads.get().add(entry, inLocalTier);
        } else {
            whenPublished.published(Tiers.LOCAL, id, inLocalTier);
        }
    }

    private static String host() {
        String named = System.getenv("HOSTNAME");
        if (named != null && !named.isBlank()) {
            return named;
        }
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "unknown";
        }
    }

    /**
     * A unit of background work, which closes a claim at its end. If it cannot run or fails, it is
     * counted as dropped, and the listener of {@code id} receives the cause.
     */
    private record Task(WriteBehindQueue queue, Runnable action, Claim claim, Optional<Id> id)
            implements Runnable {
        @Override
        public void run() {
            try {
                action.run();
            } catch (Throwable e) {
                // an error too: it must neither end this thread nor leave the listener without a
                // result
                Warnings.warn("write-behind", "An entry could not be stored: " + e);
                drop(e.toString());
            } finally {
                claim.close();
            }
        }

        void drop(String cause) {
            claim.close();
            queue.counters.increment(Counter.STORES_DROPPED);
            id.ifPresent(known -> queue.notStored(known, cause));
        }
    }

    private void submit(Task task) {
        if (!tasks.submit(task)) {
            task.drop("the write-behind queue is full or closed, or no thread could be started");
        }
    }

    private void notStored(Id id, String cause) {
        whenPublished.published(Tiers.LOCAL, id, new StoreResult.Failed(cause));
    }
}
