package dev.granary.cache.constant;

/**
 * A device whose memory holds constant tensors. Devices with equal kind and index share a cache and
 * its budget.
 */
public interface ConstantDevice {
    /** Returns the kind of engines on the device. */
    EngineKind kind();

    /** Returns the index among the devices of that kind, from 0. */
    int index();
}
