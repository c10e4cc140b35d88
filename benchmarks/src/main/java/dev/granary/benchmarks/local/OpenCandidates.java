package dev.granary.benchmarks.local;

import dev.granary.benchmarks.local.store.CandidateStore;
import dev.granary.benchmarks.local.store.StoreCandidate;

import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The stores of a run that are open at the same time, one for each owner among the candidates. */
final class OpenCandidates implements AutoCloseable {
    private final Map<StoreCandidate, CandidateStore> stores = new EnumMap<>(StoreCandidate.class);

    /** Opens the stores under {@code parent}, with a capacity that is never reached. */
    static OpenCandidates open(List<StoreCandidate> owners, Path parent, long capacity)
            throws IOException {
        OpenCandidates opened = new OpenCandidates();
        for (StoreCandidate owner : owners) {
            try {
                opened.stores.put(owner, owner.open(parent, capacity));
            } catch (IOException | RuntimeException | LinkageError e) {
                throw new IOException(
                        owner.label()
                                + " does not open; name what to compare without it by"
                                + " --candidates: "
                                + e,
                        e);
            }
        }
        return opened;
    }

    /** Returns the store that the candidate reads. */
    CandidateStore of(StoreCandidate candidate) {
        return Objects.requireNonNull(stores.get(candidate.owner()));
    }

    @Override
    public void close() throws IOException {
        for (CandidateStore store : stores.values()) {
            store.close();
        }
        stores.clear();
    }
}
