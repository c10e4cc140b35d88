package dev.granary.coordinator.dispatch;

import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.coordinator.event.CompileEvent;
import dev.granary.coordinator.event.EvictionEvent;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.event.LoadEvent;
import dev.granary.coordinator.event.LookupEvent;
import dev.granary.coordinator.event.RestoreEvent;
import dev.granary.coordinator.event.StoreEvent;
import dev.granary.coordinator.event.UploadEvent;
import dev.granary.coordinator.event.WaitEvent;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;

import org.jspecify.annotations.Nullable;

import java.util.Locale;
import java.util.Optional;

/**
 * Event as the flight recorder of the JVM stores it. Its fields are those of the
 * {@link GranaryEvent} of the same kind, as texts and numbers.
 */
@Registered(false)
@Category("Granary")
@StackTrace(false)
@SuppressWarnings("UnusedVariable") // the flight recorder reads the fields
abstract class RecordedEvent extends Event {
    /** The path of the last target: computing it takes longer than the event. */
    private static volatile NamedTarget latestTarget = new NamedTarget(null, "");

    private record NamedTarget(@Nullable Target target, String path) {}

    /** Returns an event of a kind that has begun; null if no recording has it. */
    static @Nullable RecordedEvent begin(EventKind kind) {
        RecordedEvent event =
                switch (kind) {
                    case LOOKUP -> new Lookup();
                    case LOAD -> new Load();
                    case RESTORE -> new Restore();
                    case WAIT -> new Wait();
                    case COMPILE -> new Compile();
                    case STORE -> new Store();
                    case UPLOAD -> new Upload();
                    case EVICTION -> new Eviction();
                };
        if (!event.isEnabled()) {
            return null;
        }
        event.begin();
        return event;
    }

    /** Commits the event with the values of {@code event}, which is of the same kind. */
    final void commit(GranaryEvent event) {
        if (shouldCommit()) {
            set(event);
            commit();
        }
    }

    abstract void set(GranaryEvent event);

    private static String text(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private static @Nullable String text(Optional<String> value) {
        return value.orElse(null);
    }

    private static String path(Target target) {
        NamedTarget latest = latestTarget;
        if (!target.equals(latest.target())) {
            latest = new NamedTarget(target, target.path());
            latestTarget = latest;
        }
        return latest.path();
    }

    private static String text(StoreResult result) {
        return result.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    }

    private static @Nullable String cause(StoreResult result) {
        return switch (result) {
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ -> null;
            case StoreResult.Refused(String reason) -> reason;
            case StoreResult.Failed(String cause) -> cause;
            case StoreResult.Unknown(String cause) -> cause;
        };
    }

    private static IllegalArgumentException wrongKind(GranaryEvent event) {
        return new IllegalArgumentException("An event of another kind: " + event);
    }

    /** Lookup below the memory tier. */
    @Registered
    @Name("granary.Lookup")
    @Label("Lookup")
    @Description("A lookup of a program that was not in memory")
    @StackTrace
    static final class Lookup extends RecordedEvent {
        @Label("Id")
        @Nullable
        String id;

        @Label("Target")
        @Nullable
        String target;

        @Label("Source")
        @Description("local, bucket or compiled; empty if the lookup failed")
        @Nullable
        String source;

        @Label("Layer")
        @Nullable
        String layer;

        @Label("Bytes")
        @DataAmount
        long bytes;

        @Override
        void set(GranaryEvent event) {
            if (!(event instanceof LookupEvent lookup)) {
                throw wrongKind(event);
            }
            id = lookup.id();
            target = path(lookup.target());
            source = text(lookup.source().map(RecordedEvent::text));
            layer = text(lookup.layer());
            bytes = lookup.bytes();
        }
    }

    /** Hit in memory. Programs look up at each launch, hence disabled by default. */
    @Registered
    @Name("granary.MemoryHit")
    @Label("Memory Hit")
    @Description("A lookup of a program that was in memory")
    @Enabled(false)
    @StackTrace
    static final class MemoryHit extends RecordedEvent {
        /** An instance that is never committed: it has the state of all. */
        private static final MemoryHit STATE = new MemoryHit();

        @Label("Id")
        @Nullable
        String id;

        @Label("Target")
        @Nullable
        String target;

        static boolean isRecorded() {
            return STATE.isEnabled();
        }

        @Override
        void set(GranaryEvent event) {
            if (!(event instanceof LookupEvent lookup)) {
                throw wrongKind(event);
            }
            id = lookup.id();
            target = path(lookup.target());
        }
    }

    /** Lookup in one tier. */
    @Registered
    @Name("granary.Load")
    @Label("Load")
    @Description("A lookup in the local tier or in a layer")
    static final class Load extends RecordedEvent {
        @Label("Id")
        @Nullable
        String id;

        @Label("Tier")
        @Nullable
        String tier;

        @Label("Outcome")
        @Nullable
        String outcome;

        @Label("Cause")
        @Nullable
        String cause;

        @Label("Bytes")
        @DataAmount
        long bytes;

        @Override
        void set(GranaryEvent event) {
            if (!(event instanceof LoadEvent load)) {
                throw wrongKind(event);
            }
            id = load.id();
            tier = load.tier();
            outcome = text(load.outcome());
            cause = text(load.cause());
            bytes = load.bytes();
        }
    }

    /** Attempt to restore a stored entry. */
    @Registered
    @Name("granary.Restore")
    @Label("Restore")
    @Description("An attempt to restore a primitive from a stored entry")
    static final class Restore extends RecordedEvent {
        @Label("Id")
        @Nullable
        String id;

        @Label("Tier")
        @Nullable
        String tier;

        @Label("Outcome")
        @Nullable
        String outcome;

        @Label("Cause")
        @Nullable
        String cause;

        @Label("Bytes")
        @DataAmount
        long bytes;

        @Override
        void set(GranaryEvent event) {
            if (!(event instanceof RestoreEvent restore)) {
                throw wrongKind(event);
            }
            id = restore.id();
            tier = restore.tier();
            outcome = text(restore.outcome());
            cause = text(restore.cause());
            bytes = restore.bytes();
        }
    }

    /** Wait for another process. */
    @Registered
    @Name("granary.Wait")
    @Label("Wait")
    @Description("A wait for another process of the machine that compiles the same id")
    static final class Wait extends RecordedEvent {
        @Label("Id")
        @Nullable
        String id;

        @Label("Outcome")
        @Nullable
        String outcome;

        @Override
        void set(GranaryEvent event) {
            if (!(event instanceof WaitEvent wait)) {
                throw wrongKind(event);
            }
            id = wait.id();
            outcome = text(wait.outcome());
        }
    }

    /** Compile. */
    @Registered
    @Name("granary.Compile")
    @Label("Compile")
    @Description("A compile by a lookup")
    @StackTrace
    static final class Compile extends RecordedEvent {
        @Label("Id")
        @Nullable
        String id;

        @Label("Target")
        @Nullable
        String target;

        @Label("Failure")
        @Nullable
        String failure;

        @Override
        void set(GranaryEvent event) {
            if (!(event instanceof CompileEvent compile)) {
                throw wrongKind(event);
            }
            id = compile.id();
            target = path(compile.target());
            failure = text(compile.failure());
        }
    }

    /** Store in the local tier. */
    @Registered
    @Name("granary.Store")
    @Label("Store")
    @Description("A store in the local tier")
    static final class Store extends RecordedEvent {
        @Label("Id")
        @Nullable
        String id;

        @Label("Outcome")
        @Nullable
        String outcome;

        @Label("Cause")
        @Nullable
        String cause;

        @Label("Bytes")
        @DataAmount
        long bytes;

        @Override
        void set(GranaryEvent event) {
            if (!(event instanceof StoreEvent store)) {
                throw wrongKind(event);
            }
            id = store.id();
            outcome = text(store.result());
            cause = cause(store.result());
            bytes = store.bytes();
        }
    }

    /** Store in a layer. */
    @Registered
    @Name("granary.Upload")
    @Label("Upload")
    @Description("A store in a layer")
    static final class Upload extends RecordedEvent {
        @Label("Id")
        @Nullable
        String id;

        @Label("Layer")
        @Nullable
        String layer;

        @Label("Outcome")
        @Nullable
        String outcome;

        @Label("Cause")
        @Nullable
        String cause;

        @Label("Bytes")
        @DataAmount
        long bytes;

        @Override
        void set(GranaryEvent event) {
            if (!(event instanceof UploadEvent upload)) {
                throw wrongKind(event);
            }
            id = upload.id();
            layer = upload.layer();
            outcome = text(upload.result());
            cause = cause(upload.result());
            bytes = upload.bytes();
        }
    }

    /** Eviction from the local directory or the memory tier. */
    @Registered
    @Name("granary.Eviction")
    @Label("Eviction")
    @Description("An eviction from the local directory or from memory by this process")
    static final class Eviction extends RecordedEvent {
        @Label("Tier")
        @Nullable
        String tier;

        @Label("Entries")
        long entries;

        @Label("Bytes")
        @DataAmount
        long bytes;

        @Override
        void set(GranaryEvent event) {
            if (!(event instanceof EvictionEvent eviction)) {
                throw wrongKind(event);
            }
            tier = eviction.tier();
            entries = eviction.entries();
            bytes = eviction.bytes();
        }
    }
}
