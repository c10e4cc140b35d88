package dev.granary.s3;

import dev.granary.cache.Id;
import dev.granary.cache.support.PinStore;
import dev.granary.s3.layout.BucketLayout;
import dev.granary.s3.store.GetResult;
import dev.granary.s3.store.HeadResult;
import dev.granary.s3.store.ListResult;
import dev.granary.s3.store.ObjectStore;
import dev.granary.s3.store.StoreFailure;
import dev.granary.s3.store.WriteResult;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Pins of a bucket, each an object. Thread-safe. */
public final class BucketPins implements PinStore {
    private static final int MAX_PINS = 10_000;

    private final String prefix;
    private final ObjectStore store;

    BucketPins(BucketLayout layout, ObjectStore store) {
        this.prefix = layout.pinPrefix();
        this.store = store;
    }

    @Override
    public Optional<String> write(String name, Collection<Id> ids) {
        byte[] body = Pin.encode(ids);
        return body.length > Pin.MAX_BYTES
                ? Optional.of("a pin has at most 16 MiB")
                : WriteResult.failureOf(store.put(prefix + PinStore.requireName(name), body))
                        .map(StoreFailure::toString);
    }

    @Override
    public boolean remove(String name) throws IOException {
        if (store.head(prefix + name) instanceof HeadResult.Absent) {
            return false;
        }
        Optional<StoreFailure> failure = WriteResult.failureOf(store.delete(prefix + name));
        if (failure.isPresent()) {
            throw new IOException("pin " + name + " cannot be removed: " + failure.get());
        }
        return true;
    }

    @Override
    public void read(Consumer<Pin> visitor) throws IOException {
        read(0, visitor);
    }

    /**
     * As {@link #read}; only those that were written since then, by the server's clock.
     *
     * @throws IOException if a pin cannot be read or is damaged
     */
    void read(long sinceMillis, Consumer<Pin> visitor) throws IOException {
        List<ObjectStore.Listed> pins = new ArrayList<>();
        ListResult listed = store.list(prefix, object -> {
            if (name(object).matches(NAME)
                    && pins.size() <= MAX_PINS
                    && (object.lastModifiedMillis() >= sinceMillis
                            || object.lastModifiedMillis() == 0)) {
                pins.add(object);
            }
        });
        if (listed instanceof ListResult.Unavailable(StoreFailure failure)) {
            throw new IOException("pins cannot be listed: " + failure);
        }
        if (pins.size() > MAX_PINS) {
            throw new IOException("there are more than " + MAX_PINS + " pins");
        }
        for (ObjectStore.Listed pin : pins) {
            visitor.accept(read(name(pin), pin.lastModifiedMillis()));
        }
    }

    private String name(ObjectStore.Listed pin) {
        return pin.key().substring(prefix.length());
    }

    private Pin read(String name, long writtenMillis) throws IOException {
        return switch (store.get(prefix + name, Pin.MAX_BYTES)) {
            case GetResult.Found found ->
                Pin.decode(name, writtenMillis, found.bytes().toArray(ValueLayout.JAVA_BYTE));
            case GetResult.TooLarge _ -> throw Pin.damaged(name);
            case GetResult.Absent _ -> throw new IOException("pin " + name + " was just removed");
            case GetResult.Unavailable(StoreFailure failure) ->
                throw new IOException("pin " + name + " cannot be read: " + failure);
        };
    }
}
