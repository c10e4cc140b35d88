package dev.granary.coordinator;

import dev.granary.cache.PersistentCache;
import dev.granary.cache.support.Warnings;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.config.GranaryConfigBuilder;
import dev.granary.coordinator.event.GranaryListener;
import dev.granary.coordinator.event.GranaryListener.PublicationListener;
import dev.granary.coordinator.recording.KernelRecorder;
import dev.granary.coordinator.tier.TierFactory;
import dev.granary.coordinator.tier.Tiers;

import org.jspecify.annotations.Nullable;

import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Builder of a {@link Granary} with plugged caches: implementations of {@link PersistentCache} by
 * the application, beside or instead of the tiers of Granary.
 *
 * <p>Lookups request the layers in the order of the calls: {@link #config} adds the configured
 * buckets, {@link #layer} and {@link #readOnlyLayer} add one layer each. Plugged layers have all
 * that buckets have: a time budget, counters, quarantine, background uploads and, if the directory
 * is used, an outbox.
 *
 * <p>A plugged cache belongs to the application, which closes it after the {@link Granary}. It may
 * be shared by several instances. Calls that were under way may still run then.
 *
 * <p>If a plugged cache breaks its contract, lookups go on without it: a call that throws, takes
 * too long, or returns another entry is a counted miss. Not thread-safe.
 */
public final class GranaryBuilder {
    private static final Pattern NAME = Pattern.compile("[^\\p{Cc}\\u2028\\u2029]{1,200}");

    final List<GranaryListener> listeners = new ArrayList<>();
    PublicationListener whenPublished = (_, _, _) -> {};
    boolean isInPacks;
    boolean isReading = true;

    @Nullable
    PersistentCache local; // null: that of the configuration

    InstantSource clock = InstantSource.system();
    private @Nullable GranaryConfig config;
    private final List<Tiers.Source> layers = new ArrayList<>();
    private int layersBeforeBuckets;
    private Tiers.@Nullable BucketOpener buckets;

    GranaryBuilder() {}

    /**
     * Sets the configuration, and adds its buckets after the layers that were added before this
     * call. Without a call: {@link GranaryConfig#fromEnvironment()}, with its buckets first.
     *
     * @throws IllegalStateException if it was set before
     */
    public GranaryBuilder config(GranaryConfig configuration) {
        if (config != null) {
            throw new IllegalStateException("The configuration is set already");
        }
        config = configuration;
        layersBeforeBuckets = layers.size();
        return this;
    }

    /**
     * Replaces the local tier by {@code cache}. Capacity and eviction are its own.
     *
     * <p>The configured directory is used nevertheless: for the claims of this machine, the
     * quarantine, the outboxes and the totals of the counters. With the capacity 0 it is not
     * touched, and there are none of these. With a cache that other processes of the machine do not
     * share, set {@link GranaryConfigBuilder#claimWait} to zero, since their entries never appear
     * in it. Programs with different plugged local caches need different directories: the uploads
     * that a process left are read from the local cache of the next.
     *
     * @throws IllegalStateException if it was replaced before
     */
    public GranaryBuilder local(PersistentCache cache) {
        if (local != null) {
            throw new IllegalStateException("The local tier is replaced already");
        }
        local = cache;
        return this;
    }

    /**
     * Adds a writable layer. A compiled entry is published there in the background if this is the
     * first writable layer.
     *
     * @param name the name in counters, messages and the outbox, 1 to 200 characters. Uploads that
     *     one process leaves are done by the next one whose first writable layer has this name.
     * @throws IllegalArgumentException if the name is a layer's already, has control characters, or
     *     starts with {@code s3://} as those of buckets do
     */
    public GranaryBuilder layer(String name, PersistentCache cache) {
        return add(Tiers.Source.plugged(name, true, cache));
    }

    /**
     * Adds a layer from which entries are only loaded: none is stored or discarded there.
     *
     * @param name the name as for {@link #layer}
     * @throws IllegalArgumentException as for {@link #layer}
     */
    public GranaryBuilder readOnlyLayer(String name, PersistentCache cache) {
        return add(Tiers.Source.plugged(name, false, cache));
    }

    /**
     * Adds a listener of events. It is called in a thread of its own; a listener that is slow,
     * blocks or throws affects no lookup: {@link GranaryListener}.
     */
    public GranaryBuilder listener(GranaryListener listener) {
        listeners.add(Objects.requireNonNull(listener, "listener"));
        return this;
    }

    private GranaryBuilder add(Tiers.Source layer) {
        String name = layer.name();
        if (!NAME.matcher(name).matches() || name.isBlank() || name.startsWith("s3://")) {
            throw new IllegalArgumentException("The name of a layer must have 1 to 200 characters"
                    + " without control characters, and not start with s3://");
        }
        if (layers.stream().anyMatch(other -> other.name().equals(name))) {
            throw new IllegalArgumentException("There are two layers with the name " + name);
        }
        layers.add(layer);
        return this;
    }

    /**
     * Opens the local directory and creates the bucket clients. Neither a bucket nor a plugged
     * cache is requested.
     *
     * @throws ConfigException if the configuration cannot work, with the necessary change
     */
    public Granary open() throws ConfigException {
        GranaryConfig chosen = config == null ? GranaryConfig.fromEnvironment() : config;
        KernelRecorder.check(chosen);
        return new Granary(chosen, this);
    }

    /** Sets the listener of publications, instead of one that does nothing. */
    public GranaryBuilder published(PublicationListener listener) {
        Objects.requireNonNull(listener, "listener");
        whenPublished = (layer, id, result) -> {
            try {
                listener.published(layer, id, result);
            } catch (Throwable e) { // an error too: it must not end a thread of the background
                Warnings.warn("listener", "The listener for published entries failed: " + e);
            }
        };
        return this;
    }

    /**
     * Publishes entries in packs: many in one object, when 32 MiB are collected and when the cache
     * is flushed or closed. For programs that publish many kernels, such as a CI job. Without this
     * call each entry is an object of its own, which others find at once.
     */
    public GranaryBuilder inPacks() {
        isInPacks = true;
        return this;
    }

    /**
     * Reads no layer: a lookup compiles what the local tier lacks, and publishes it. For a trusted
     * job that must not publish what others have stored.
     */
    public GranaryBuilder withoutReading() {
        isReading = false;
        return this;
    }

    /** Replaces the opener of configured buckets and the clock. */
    GranaryBuilder over(Tiers.BucketOpener opener, InstantSource time) {
        buckets = opener;
        clock = time;
        return this;
    }

    Tiers.Sources sources(GranaryConfig chosen) {
        return new Tiers.Sources(
                Optional.ofNullable(local),
                layers.subList(0, layersBeforeBuckets),
                layers.subList(layersBeforeBuckets, layers.size()),
                buckets == null
                        ? layer -> TierFactory.open(layer, TierFactory.directory(chosen))
                        : buckets,
                clock);
    }
}
