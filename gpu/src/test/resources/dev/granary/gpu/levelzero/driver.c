/*
 * The Level Zero driver of Granary's tests: drivers, devices, contexts, memory and modules. The
 * driver builds and executes programs in the vector format. Immediate commands run in threads of
 * their own, as on a device. Written after the oneAPI Level Zero Specification, version 1.4.
 *
 * Settings, from the environment or by granary_ze_set:
 *   GRANARY_ZE_DEVICES, GRANARY_ZE_SUBDEVICES   numbers of devices and of parts of each
 *   GRANARY_ZE_DRIVER_VERSION, GRANARY_ZE_DEVICE_ID, GRANARY_ZE_IP_VERSION   the identity
 *   GRANARY_ZE_FAIL       function=status or function=status*n: calls that fail
 *   GRANARY_ZE_COMPILE_MILLIS, GRANARY_ZE_LAUNCH_MILLIS   the least time of a build, of a launch
 *   GRANARY_ZE_NO_BINARY  modules have an empty native binary
 *   GRANARY_ZE_SUGGEST    the suggested group size
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 16
struct device {
    int number;
};

struct log {
    struct object head;
    char text[512];
};

static int driver;
static struct device devices[MAX_DEVICES];

static uint32_t driver_version(void) {
    return (uint32_t) setting_number("GRANARY_ZE_DRIVER_VERSION", 0x01020003);
}

static uint32_t device_id(void) { return (uint32_t) setting_number("GRANARY_ZE_DEVICE_ID", 0x7e57); }

static uint32_t enumerate(uint32_t found, uint32_t* count, void** handles, struct device* from) {
    if (!handles) {
        *count = found;
        return SUCCESS;
    }
    if (*count > found) *count = found;
    for (uint32_t i = 0; i < *count; i++) handles[i] = &from[i];
    return SUCCESS;
}

/* ---- drivers and devices ---- */

static uint32_t init(uint32_t flags) { (void) flags; return called("zeInit"); }

static uint32_t driver_get(uint32_t* count, void** handles) {
    BEGIN("zeDriverGet");
    if (handles && *count) handles[0] = &driver;
    *count = 1;
    return SUCCESS;
}

static uint32_t driver_api_version(void* of, uint32_t* version) {
    (void) of;
    *version = 1 << 16 | 4;
    return SUCCESS;
}

static uint32_t driver_properties(void* of, char* properties) {
    (void) of;
    BEGIN("zeDriverGetProperties");
    uint32_t version = driver_version();
    memset(properties + 16, 0x11, 16);
    memcpy(properties + 32, &version, 4);
    return SUCCESS;
}

static uint32_t driver_extensions(void* of, uint32_t* count, char* extensions) {
    (void) of;
    BEGIN("zeDriverGetExtensionProperties");
    uint32_t found = setting("GRANARY_ZE_IP_VERSION") ? 1 : 0;
    if (extensions && found) strcpy(extensions, "ZE_extension_device_ip_version");
    *count = found;
    return SUCCESS;
}

static uint32_t device_get(void* of, uint32_t* count, void** handles) {
    (void) of;
    BEGIN("zeDeviceGet");
    return enumerate((uint32_t) setting_number("GRANARY_ZE_DEVICES", 1), count, handles, devices);
}

static uint32_t sub_devices(void* device, uint32_t* count, void** handles) {
    (void) device;
    BEGIN("zeDeviceGetSubDevices");
    return enumerate((uint32_t) setting_number("GRANARY_ZE_SUBDEVICES", 0), count, handles,
            devices + MAX_DEVICES / 2);
}

static uint32_t device_properties(struct device* device, char* properties) {
    BEGIN("zeDeviceGetProperties");
    int is_part = device - devices >= MAX_DEVICES / 2;
    uint32_t type = 1, vendor = 0x6772, id = device_id(), units[] = {8, 4, is_part ? 1u : 2u};
    memcpy(properties + 16, &type, 4);
    memcpy(properties + 20, &vendor, 4);
    memcpy(properties + 24, &id, 4);
    memcpy(properties + 64, units, sizeof units);
    strcpy(properties + 112, "Vector device");
    char* extension;
    memcpy(&extension, properties + 8, sizeof extension);
    if (extension) {
        uint32_t version = (uint32_t) setting_number("GRANARY_ZE_IP_VERSION", 0);
        memcpy(extension + 16, &version, 4);
    }
    return SUCCESS;
}

static uint32_t queue_groups(void* device, uint32_t* count, char* properties) {
    (void) device;
    BEGIN("zeDeviceGetCommandQueueGroupProperties");
    uint32_t copy = 2, compute = 1, queues = 1; /* the first group only copies */
    if (properties && *count >= 2) {
        memcpy(properties + 16, &copy, 4);
        memcpy(properties + 32, &queues, 4);
        memcpy(properties + 40 + 16, &compute, 4);
        memcpy(properties + 40 + 32, &queues, 4);
    }
    *count = 2;
    return SUCCESS;
}

/* ---- contexts and memory ---- */

static uint32_t context_create(void* of, const void* description, void** context) {
    (void) of, (void) description;
    BEGIN("zeContextCreate");
    return created(object_create(CONTEXT, sizeof(struct object), NULL), context);
}

static uint32_t context_destroy(void* context) {
    BEGIN("zeContextDestroy");
    return object_destroy(context, CONTEXT);
}

static uint32_t mem_alloc_device(
        void* context, const void* description, size_t bytes, size_t alignment, void* device,
        void** address) {
    (void) description, (void) alignment, (void) device;
    BEGIN("zeMemAllocDevice");
    CHECK(context, CONTEXT);
    return created(memory_allocate(context, bytes), address);
}

static uint32_t mem_free(void* context, void* address) {
    BEGIN("zeMemFree");
    CHECK(context, CONTEXT);
    return memory_free(address);
}

/* ---- modules ---- */

/* A native binary: a head of text with the identity and a checksum, and the program. */
static uint64_t checksum(const char* text, size_t bytes) {
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++) sum = (sum ^ (unsigned char) text[i]) * 1099511628211u;
    return sum;
}

#define HEAD "GRANARYZE driver %08x device %08x sum %016llx\n"
#define HEAD_BYTES 63

static void head(char* into, const char* text, size_t bytes) {
    snprintf(into, HEAD_BYTES + 1, HEAD, driver_version(), device_id(),
            (unsigned long long) checksum(text, bytes));
}

/* Returns the status of a native binary; it is built again if only its driver differs. */
static uint32_t native(const char** text, size_t* bytes, char* log, size_t room) {
    unsigned int version, id;
    unsigned long long sum;
    char start[HEAD_BYTES + 1] = "";
    if (*bytes <= HEAD_BYTES) return INVALID_NATIVE_BINARY;
    memcpy(start, *text, HEAD_BYTES);
    if (sscanf(start, HEAD, &version, &id, &sum) != 3 || id != device_id()
            || sum != checksum(*text + HEAD_BYTES, *bytes - HEAD_BYTES)) {
        snprintf(log, room, "error: the binary is damaged, or of another device");
        return INVALID_NATIVE_BINARY;
    }
    if (version != driver_version()) {
        snprintf(log, room, "warning: [-Wrecompiled-from-ir] the driver differs");
        pause_millis("GRANARY_ZE_COMPILE_MILLIS");
    }
    *text += HEAD_BYTES;
    *bytes -= HEAD_BYTES;
    return SUCCESS;
}

static uint32_t module_create(
        void* context, void* device, const char* description, void** handle, void** log_handle) {
    (void) device;
    CHECK(context, CONTEXT);
    uint32_t format;
    size_t bytes;
    const char *text, *flags;
    memcpy(&format, description + 16, 4);
    memcpy(&bytes, description + 24, sizeof bytes);
    memcpy(&text, description + 32, sizeof text);
    memcpy(&flags, description + 40, sizeof flags);
    BEGIN(format ? "native" : "spirv");
    struct program program;
    char log[512] = "";
    uint32_t status = called("zeModuleCreate");
    if (!status && format) {
        status = native(&text, &bytes, log, sizeof log);
    } else if (!status) {
        pause_millis("GRANARY_ZE_COMPILE_MILLIS");
    }
    if (!status && flags && strstr(flags, "unknown")) {
        snprintf(log, sizeof log, "error: unknown option: %s", flags);
        status = BUILD_FAILURE;
    }
    char parse_log[256];
    if (!status && !program_parse(text, bytes, &program, parse_log, sizeof parse_log)) {
        snprintf(log, sizeof log, "%s", parse_log);
        status = BUILD_FAILURE;
    }
    if (log_handle) {
        struct log* object = object_create(LOG, sizeof *object, context);
        strcpy(object->text, log);
        *log_handle = object;
    }
    if (status) return status;
    struct module* module = object_create(MODULE, sizeof *module, context);
    module->text = malloc(bytes);
    memcpy(module->text, text, bytes);
    module->bytes = bytes;
    module->program = program;
    return created(module, handle);
}

static uint32_t module_destroy(struct module* module) {
    BEGIN("zeModuleDestroy");
    return object_destroy(module, MODULE);
}

static uint32_t module_binary(struct module* module, size_t* size, char* binary) {
    BEGIN("zeModuleGetNativeBinary");
    CHECK(module, MODULE);
    size_t needed = setting("GRANARY_ZE_NO_BINARY") ? 0 : HEAD_BYTES + module->bytes;
    if (binary && needed) {
        if (*size < needed) return INVALID_SIZE;
        char text[HEAD_BYTES + 1];
        head(text, module->text, module->bytes);
        memcpy(binary, text, HEAD_BYTES);
        memcpy(binary + HEAD_BYTES, module->text, module->bytes);
    }
    *size = needed;
    return SUCCESS;
}

static uint32_t module_kernel_names(struct module* module, uint32_t* count, const char** names) {
    BEGIN("zeModuleGetKernelNames");
    CHECK(module, MODULE);
    uint32_t found = (uint32_t) module->program.kernels;
    for (uint32_t i = 0; names && i < found && i < *count; i++) {
        names[i] = module->program.kernel[found - 1 - i].name; /* in no order of text */
    }
    *count = found;
    return SUCCESS;
}

static uint32_t log_destroy(struct log* log) {
    BEGIN("zeModuleBuildLogDestroy");
    return object_destroy(log, LOG);
}

static uint32_t log_string(struct log* log, size_t* size, char* text) {
    BEGIN("zeModuleBuildLogGetString");
    CHECK(log, LOG);
    size_t needed = strlen(log->text) + 1;
    if (text) memcpy(text, log->text, *size < needed ? *size : needed);
    *size = needed;
    return SUCCESS;
}

/* ---- tables ---- */

EXPORT uint32_t zeGetGlobalProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) init;
    return SUCCESS;
}

EXPORT uint32_t zeGetDriverProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) driver_get;
    table[1] = (void*) driver_api_version;
    table[2] = (void*) driver_properties;
    table[4] = (void*) driver_extensions;
    return SUCCESS;
}

EXPORT uint32_t zeGetDeviceProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) device_get;
    table[1] = (void*) sub_devices;
    table[2] = (void*) device_properties;
    table[5] = (void*) queue_groups;
    return SUCCESS;
}

EXPORT uint32_t zeGetContextProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) context_create;
    table[1] = (void*) context_destroy;
    return SUCCESS;
}

EXPORT uint32_t zeGetMemProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[1] = (void*) mem_alloc_device;
    table[3] = (void*) mem_free;
    return SUCCESS;
}

EXPORT uint32_t zeGetModuleProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) module_create;
    table[1] = (void*) module_destroy;
    table[3] = (void*) module_binary;
    table[5] = (void*) module_kernel_names;
    return SUCCESS;
}

EXPORT uint32_t zeGetModuleBuildLogProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) log_destroy;
    table[1] = (void*) log_string;
    return SUCCESS;
}
