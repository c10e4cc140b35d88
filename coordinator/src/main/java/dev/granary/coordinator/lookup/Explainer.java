package dev.granary.coordinator.lookup;

import dev.granary.cache.BinaryKind;
import dev.granary.cache.CompileException;
import dev.granary.cache.Engine;
import dev.granary.cache.Engine.StepProvider;
import dev.granary.cache.Entry;
import dev.granary.cache.Id;
import dev.granary.cache.KernelBinaries;
import dev.granary.cache.Primitive;
import dev.granary.cache.PrimitiveDescriptor;
import dev.granary.cache.Target;
import dev.granary.cache.constant.EngineKind;
import dev.granary.cache.support.ClaimStore;
import dev.granary.cache.support.ClaimStore.Result;
import dev.granary.coordinator.config.ConfigException;
import dev.granary.coordinator.config.GranaryConfig;
import dev.granary.coordinator.event.GranaryEvent;
import dev.granary.coordinator.machine.MachineClaims;
import dev.granary.coordinator.machine.RestoreQuarantine;
import dev.granary.coordinator.observe.Counters;
import dev.granary.coordinator.observe.EventDispatcher;
import dev.granary.coordinator.observe.EventKind;
import dev.granary.coordinator.tier.Found;
import dev.granary.coordinator.tier.Tiers;
import dev.granary.coordinator.tier.Tiers.Layer;
import dev.granary.gpu.KernelDescriptor;
import dev.granary.gpu.spirv.FrontEnd;
import dev.granary.gpu.spirv.SpirvCompiler;
import dev.granary.local.LocalClaims;

import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Explainer of lookups: it runs the real lookup over parts that only read, and returns its events.
 * The engine restores any entry and compiles nothing. No use is recorded, nothing is discarded,
 * stored or claimed, and buckets receive reads only. Caches that an application plugs in are not
 * part of it.
 */
public final class Explainer {
    private static final Duration DELIVERY = Duration.ofSeconds(30);

    private final GranaryConfig config;
    private final SpirvCompiler compiler;
    private final InstantSource clock;
    private final Counters counters = new Counters();
    private Optional<String> quarantine = Optional.empty();

    private Explainer(GranaryConfig config, SpirvCompiler compiler, InstantSource clock) {
        this.config = config;
        this.compiler = compiler;
        this.clock = clock;
    }

    /**
     * The lookup to explain.
     *
     * @param kind the kind of the engine; empty if it is not known
     * @param kernel the kernel, if its compile has the step from OpenCL C to SPIR-V
     */
    public record Request(
            Id id,
            Target target,
            List<Target> readable,
            Optional<EngineKind> kind,
            Optional<KernelDescriptor> kernel)
            implements PrimitiveDescriptor {
        @Override
        public Id getId() {
            return id;
        }

        @Override
        public String name() {
            return kernel.map(KernelDescriptor::name).orElse("explained");
        }
    }

    /**
     * The explanation of a lookup.
     *
     * @param events the events of the lookup in their order, those of the lookups of its earlier
     *     steps included, which have other ids; a wait has its limit as its time
     * @param entry the entry that the driver gets; empty if the source is compiled
     * @param quarantine the reason why an entry is in quarantine, in one line; empty if none is
     * @param failure the reason why the compile fails on this machine, whatever the source
     * @param claim the claim of another machine on an absent entry
     */
    public record Explanation(
            List<GranaryEvent> events,
            Optional<Entry> entry,
            Optional<String> quarantine,
            Optional<String> failure,
            Optional<FleetClaim> claim) {}

    /** A claim in the layer of that name. */
    public record FleetClaim(String layer, ClaimStore.Result.Taken taken) {}

    public static Explanation explain(
            GranaryConfig config, SpirvCompiler compiler, InstantSource clock, Request request)
            throws ConfigException {
        return new Explainer(config, compiler, clock).explain(request);
    }

    private Explanation explain(Request request) throws ConfigException {
        List<GranaryEvent> collected = new CopyOnWriteArrayList<>();
        EventDispatcher events = new EventDispatcher(List.of(collected::add), counters);
        Optional<Entry> entry = Optional.empty();
        Optional<String> failure = Optional.empty();
        Optional<FleetClaim> claim = Optional.empty();
        try (Tiers tiers = Tiers.openToRead(config, events)) {
            LookupContext context = new LookupContext(
                    tiers,
                    this::isInQuarantine,
                    _ -> () -> {},
                    (id, _) -> peek(id, events),
                    Optional.empty(),
                    Optional.empty(),
                    counters,
                    events,
                    _ -> isEnabled(request),
                    _ -> {});
            entry = new Lookup<>(context, new Reader(request), request)
                    .find()
                    .origin()
                    .map(Found.Stored::entry);
            if (entry.isEmpty()
                    && !request.id().isEmpty()
                    && !config.claimWait().isZero()) {
                claim = fleetClaim(tiers, request.id());
            }
        } catch (CompileException e) {
            failure = Optional.of(String.valueOf(e.getMessage()));
        } finally {
            events.close(DELIVERY);
        }
        return new Explanation(List.copyOf(collected), entry, quarantine, failure, claim);
    }

    /** Reads the claim in the layer where a lookup would publish. */
    private Optional<FleetClaim> fleetClaim(Tiers tiers, Id id) {
        for (int i = 0; i < config.buckets().size(); i++) {
            Layer layer = tiers.layers().get(i);
            if (config.buckets().get(i).isWritable()) {
                ClaimStore claims = layer.store().orElseThrow().claims(); // no layer is plugged
                Result seen = layer.bounds().ask(() -> claims.read(id), Result.Unavailable::new);
                return seen instanceof Result.Taken taken
                        ? Optional.of(new FleetClaim(layer.name(), taken))
                        : Optional.empty();
            }
        }
        return Optional.empty();
    }

    private boolean isEnabled(Request request) {
        return config.enabled().contains(request.target().backend(), request.kind());
    }

    /** Looks at the claim. A wait that would begin ends at once, with its limit as its time. */
    private MachineClaims.Outcome peek(Id id, EventDispatcher events) {
        if (!isDirectoryUsed() || config.claimWait().isZero()) {
            return MachineClaims.Outcome.UNCLAIMED;
        }
        try (LocalClaims claims = LocalClaims.open(config.directory())) {
            if (claims.isClaimed(id)) {
                events.begin(EventKind.WAIT)
                        .end(_ -> new GranaryEvent.Wait(
                                EventDispatcher.digest(id),
                                GranaryEvent.Wait.Outcome.GIVEN_UP,
                                config.claimWait()));
            }
        } catch (IOException e) {
            // as a lookup, which goes on without a claim
        }
        return MachineClaims.Outcome.UNCLAIMED;
    }

    private boolean isDirectoryUsed() {
        return config.capacityBytes() > 0 && Files.exists(config.directory());
    }

    private boolean isInQuarantine(Entry entry) {
        if (!isDirectoryUsed()) {
            return false;
        }
        try {
            Optional<String> reason =
                    RestoreQuarantine.reason(config.directory(), entry, clock.instant());
            quarantine = quarantine.or(() -> reason);
            return reason.isPresent();
        } catch (IOException e) {
            return false; // as in a lookup, whose process has no session then
        }
    }

    /** A primitive without binaries. */
    private record Explained(Request descriptor, Origin origin) implements Primitive {
        @Override
        public KernelBinaries getBinaries(BinaryKind kind) {
            return KernelBinaries.none();
        }

        @Override
        public Duration compileTime() {
            return Duration.ZERO;
        }
    }

    /** An engine that "restores" any entry, and "compiles" without a driver. */
    private final class Reader implements Engine<Request, Explained> {
        private final Request request;

        Reader(Request request) {
            this.request = request;
        }

        @Override
        public Target target() {
            return request.target();
        }

        @Override
        public List<Target> readableTargets() {
            return request.readable();
        }

        @Override
        public Explained create(Request descriptor) {
            return new Explained(descriptor, Primitive.Origin.COMPILED);
        }

        /** Looks up the intermediate program, if there is a step for it. */
        @Override
        public Explained create(Request descriptor, StepProvider steps) throws CompileException {
            return request.kernel().isPresent()
                    ? new FrontEnd(new IdleCompiler())
                            .compile(request.kernel().get(), steps, _ -> create(descriptor))
                    : create(descriptor);
        }

        @Override
        public Explained create(Request descriptor, KernelBinaries binaries, BinaryKind kind) {
            return new Explained(descriptor, Primitive.Origin.RESTORED);
        }

        @Override
        public Explained create(Request descriptor, KernelBinaries binaries, Target source) {
            return new Explained(descriptor, Primitive.Origin.RESTORED);
        }

        @Override
        public void close() {}
    }

    /** The compiler of OpenCL C of this machine, which compiles nothing. */
    private final class IdleCompiler implements SpirvCompiler {
        @Override
        public Presence presence() {
            return compiler.presence();
        }

        @Override
        public byte[] compile(KernelDescriptor descriptor) throws CompileException {
            if (presence() instanceof Presence.Absent) {
                throw new CompileException(SpirvCompiler.REMEDY, "");
            }
            return new byte[0];
        }
    }
}
