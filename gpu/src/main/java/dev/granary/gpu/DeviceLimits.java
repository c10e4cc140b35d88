package dev.granary.gpu;

import java.util.List;

/**
 * The limits of a device that a launch must keep.
 *
 * @param localBytes the local memory of a work-group, in bytes
 * @param constantBytes the largest argument in constant memory, in bytes
 * @param groupItems the largest number of work-items of a work-group
 * @param groupSizes the largest number of work-items in each dimension of a work-group
 * @param computeUnits the number of compute units
 */
public record DeviceLimits(
        long localBytes,
        long constantBytes,
        long groupItems,
        List<Long> groupSizes,
        int computeUnits) {
    /** Copies the list. */
    public DeviceLimits {
        groupSizes = List.copyOf(groupSizes);
    }
}
