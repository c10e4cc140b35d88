package dev.granary.s3.history;

import dev.granary.cache.Entry;
import dev.granary.cache.contract.TestEntries;
import dev.granary.s3.pack.PackFixture;
import dev.granary.s3.register.Head;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A target with one or two recent packs fewer than are folded, each with one entry.
 *
 * @param objects the bodies by key, in the order in which a writer writes them
 * @param entries the entries
 */
record FullTarget(Map<String, byte[]> objects, List<Entry> entries) {
    /** The next publication folds. */
    static final FullTarget FULL = of(Head.FOLDED - 1);

    /** The next publication but one folds. */
    static final FullTarget NEARLY_FULL = of(Head.FOLDED - 2);

    private static FullTarget of(int packs) {
        PackFixture fixture = new PackFixture("full target " + packs);
        TestEntries maker = new TestEntries("full target " + packs);
        List<Entry> entries = new ArrayList<>();
        for (int i = 0; i < packs; i++) {
            Entry entry = maker.entry(maker.id(), 20);
            entries.add(entry);
            fixture.publish(entry);
        }
        Map<String, byte[]> objects = new LinkedHashMap<>();
        fixture.store.keys().stream()
                .sorted((a, b) -> Boolean.compare(a.endsWith("/head"), b.endsWith("/head")))
                .forEach(key -> objects.put(key, fixture.store.body(key)));
        return new FullTarget(objects, entries);
    }

    /** Places the objects in a bucket. */
    void place(Bucket bucket, Ledger ledger) {
        objects.forEach((key, body) -> {
            bucket.put(key, body);
            if (key.equals(ledger.keys().head())) {
                ledger.headChanged(true);
            } else {
                ledger.written(key, body);
            }
        });
    }
}
