package dev.granary.gpu.levelzero.binding;

import java.util.Map;

/**
 * The status codes of Level Zero and their names (oneAPI Level Zero Specification, API reference,
 * {@code ze_result_t}).
 */
public final class ZeStatus {
    /** The status of {@code zeInit} without a driver or without a device. */
    public static final int UNINITIALIZED = 0x78000001;

    private static final Map<Integer, String> NAMES = Map.ofEntries(
            Map.entry(0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST"),
            Map.entry(0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"),
            Map.entry(0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"),
            Map.entry(0x70000004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"),
            Map.entry(0x70000005, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE"),
            Map.entry(0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"),
            Map.entry(0x70000007, "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE"),
            Map.entry(0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"),
            Map.entry(0x70010001, "ZE_RESULT_ERROR_NOT_AVAILABLE"),
            Map.entry(0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"),
            Map.entry(UNINITIALIZED, "ZE_RESULT_ERROR_UNINITIALIZED"),
            Map.entry(0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"),
            Map.entry(0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"),
            Map.entry(0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT"),
            Map.entry(0x78000005, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"),
            Map.entry(0x78000006, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE"),
            Map.entry(0x78000007, "ZE_RESULT_ERROR_INVALID_NULL_POINTER"),
            Map.entry(0x78000008, "ZE_RESULT_ERROR_INVALID_SIZE"),
            Map.entry(0x78000009, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"),
            Map.entry(0x7800000a, "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT"),
            Map.entry(0x7800000c, "ZE_RESULT_ERROR_INVALID_ENUMERATION"),
            Map.entry(0x7800000d, "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION"),
            Map.entry(0x7800000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY"),
            Map.entry(0x78000011, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"),
            Map.entry(0x78000013, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION"),
            Map.entry(0x78000014, "ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION"),
            Map.entry(0x78000015, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX"),
            Map.entry(0x78000016, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE"),
            Map.entry(0x78000017, "ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE"),
            Map.entry(0x78000018, "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED"),
            Map.entry(0x78000019, "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE"),
            Map.entry(0x7800001a, "ZE_RESULT_ERROR_OVERLAPPING_REGIONS"),
            Map.entry(0x7ffffffe, "ZE_RESULT_ERROR_UNKNOWN"));

    private ZeStatus() {}

    /** Returns code and name, such as {@code 0x78000001 (ZE_RESULT_ERROR_UNINITIALIZED)}. */
    public static String describe(int status) {
        return "0x" + Integer.toHexString(status) + " ("
                + NAMES.getOrDefault(status, "see ze_api.h") + ")";
    }
}
