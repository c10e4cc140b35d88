package dev.granary.gpu.opencl.binding;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import org.lwjgl.opencl.CL10;
import org.lwjgl.opencl.CL12;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Native calls for platforms, devices and contexts. Thread-safe. */
public class DeviceCalls extends CheckedCalls {
    public List<Long> platforms() {
        return handles("clGetPlatformIDs", true, CL10::nclGetPlatformIDs);
    }

    public List<Long> devices(long platform) {
        return handles(
                "clGetDeviceIDs",
                true,
                (room, ids, count) ->
                        CL10.nclGetDeviceIDs(platform, CL10.CL_DEVICE_TYPE_ALL, room, ids, count));
    }

    /** Splits a device into sub-devices of that many compute units each. */
    public List<Long> equalSubDevices(long device, int computeUnits) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment properties = arena.allocateFrom(
                    JAVA_LONG, CL12.CL_DEVICE_PARTITION_EQUALLY, computeUnits, 0);
            return handles(
                    "clCreateSubDevices",
                    false,
                    (room, ids, count) -> CL12.nclCreateSubDevices(
                            device, properties.address(), room, ids, count));
        }
    }

    /** Returns the device that this one is a part of; 0 for a main device. */
    public long parentDevice(long device) {
        return deviceLong(device, CL12.CL_DEVICE_PARENT_DEVICE);
    }

    /** Retains a sub-device. */
    public void retainDevice(long device) {
        check("clRetainDevice", CL12.clRetainDevice(device));
    }

    /** Releases a sub-device. */
    public void releaseDevice(long device) {
        check("clReleaseDevice", CL12.clReleaseDevice(device));
    }

    public String platformText(long platform, int info) {
        return text(query(
                "clGetPlatformInfo",
                (size, value, needed) ->
                        CL10.nclGetPlatformInfo(platform, info, size, value, needed)));
    }

    public String deviceText(long device, int info) {
        return text(deviceInfo(device, info));
    }

    public int deviceInt(long device, int info) {
        return deviceInfo(device, info).get(JAVA_INT, 0);
    }

    public long deviceLong(long device, int info) {
        return deviceInfo(device, info).get(JAVA_LONG, 0);
    }

    /** Returns a list of numbers. */
    public List<Long> deviceLongs(long device, int info) {
        return longs(deviceInfo(device, info));
    }

    private MemorySegment deviceInfo(long device, int info) {
        return query(
                "clGetDeviceInfo",
                (size, value, needed) -> CL10.nclGetDeviceInfo(device, info, size, value, needed));
    }

    public long createContext(long device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment devices = arena.allocateFrom(JAVA_LONG, device);
            return create(
                    "clCreateContext",
                    status -> CL10.nclCreateContext(0, 1, devices.address(), 0, 0, status));
        }
    }

    public void retainContext(long context) {
        check("clRetainContext", CL10.clRetainContext(context));
    }

    public void releaseContext(long context) {
        check("clReleaseContext", CL10.clReleaseContext(context));
    }
}
