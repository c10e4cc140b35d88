package dev.granary.coordinator.dispatch;

import dev.granary.cache.StoreResult;
import dev.granary.cache.Target;
import dev.granary.coordinator.event.GranaryEvent;

import jdk.jfr.Category;
import jdk.jfr.Event;
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
abstract class RecordedEvent extends Event {
    /** The last target with its path: computing a path takes longer than recording an event. */
    private static volatile NamedTarget latestTarget = new NamedTarget(null, "");

    private record NamedTarget(@Nullable Target target, String path) {}

    /** Returns an event of a kind that has begun; null if no recording has it. */
    static @Nullable RecordedEvent begin(EventKind kind) {
        RecordedEvent event =
                switch (kind) {
                    case LOOKUP -> new RecordedLookup();
                    case LOAD -> new RecordedLoad();
                    case RESTORE -> new RecordedRestore();
                    case WAIT -> new RecordedWait();
                    case COMPILE -> new RecordedCompile();
                    case STORE -> new RecordedStore();
                    case UPLOAD -> new RecordedUpload();
                    case EVICTION -> new RecordedEviction();
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

    static String text(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    static @Nullable String text(Optional<String> value) {
        return value.orElse(null);
    }

    static String path(Target target) {
        NamedTarget latest = latestTarget;
        if (!target.equals(latest.target())) {
            latest = new NamedTarget(target, target.path());
            latestTarget = latest;
        }
        return latest.path();
    }

    static String text(StoreResult result) {
        return result.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    }

    static @Nullable String cause(StoreResult result) {
        return switch (result) {
            case StoreResult.Stored _, StoreResult.Duplicate _, StoreResult.Divergent _ -> null;
            case StoreResult.Refused refused -> refused.reason();
            case StoreResult.Failed(String cause) -> cause;
            case StoreResult.Unknown(String cause) -> cause;
        };
    }

    static IllegalArgumentException wrongKind(GranaryEvent event) {
        return new IllegalArgumentException("An event of another kind: " + event);
    }
}
