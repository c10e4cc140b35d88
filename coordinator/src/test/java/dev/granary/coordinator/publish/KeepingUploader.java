package dev.granary.coordinator.publish;

import dev.granary.cache.Entry;
import dev.granary.cache.StoreResult;
import dev.granary.coordinator.publish.UploadQueue.EntryUploader;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** An uploader that buffers all entries until it is finished. */
final class KeepingUploader implements EntryUploader {
    final List<Consumer<StoreResult>> buffered = new CopyOnWriteArrayList<>();
    volatile Supplier<StoreResult> nextResult = () -> new StoreResult.Stored(1);
    volatile boolean isSilent;

    @Override
    public void send(Entry entry, Consumer<StoreResult> whenDone) {
        buffered.add(whenDone);
    }

    @Override
    public void finish() {
        StoreResult result = nextResult.get();
        // removed first: a result may wake up a thread that sends the next entry
        List<Consumer<StoreResult>> finished = List.copyOf(buffered);
        buffered.removeAll(finished);
        if (!isSilent) {
            finished.forEach(whenDone -> whenDone.accept(result));
        }
    }

    @Override
    public void close() {}
}
