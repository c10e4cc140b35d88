/* The test driver's kernels and command lists. */
#include "driver.h"

#include <string.h>

#define MAX_GROUP 1024

struct kernel {
    struct object head;
    const struct kernel_code* code;
    uint32_t group[3];
    struct argument argument[MAX_PARAMETERS];
};

struct list {
    struct object head;
    int is_in_use;
};

/* ---- kernels ---- */

static uint32_t kernel_create(struct module* module, const char* description, void** handle) {
    BEGIN("zeKernelCreate");
    CHECK(module, MODULE);
    const char* name;
    memcpy(&name, description + 24, sizeof name);
    for (int i = 0; i < module->program.kernels; i++) {
        if (!strcmp(module->program.kernel[i].name, name)) {
            struct kernel* kernel = object_create(KERNEL, sizeof *kernel, module);
            kernel->code = &module->program.kernel[i];
            return created(kernel, handle);
        }
    }
    return INVALID_KERNEL_NAME;
}

static uint32_t kernel_destroy(struct kernel* kernel) {
    BEGIN("zeKernelDestroy");
    return object_destroy(kernel, KERNEL);
}

static uint32_t kernel_properties(struct kernel* kernel, char* properties) {
    BEGIN("zeKernelGetProperties");
    CHECK(kernel, KERNEL);
    uint32_t parameters = (uint32_t) kernel->code->parameters;
    memcpy(properties + 16, &parameters, 4);
    return SUCCESS;
}

static uint32_t kernel_set_group_size(struct kernel* kernel, uint32_t x, uint32_t y, uint32_t z) {
    BEGIN("zeKernelSetGroupSize");
    CHECK(kernel, KERNEL);
    if (!x || !y || !z || (uint64_t) x * y * z > MAX_GROUP) return INVALID_GROUP_SIZE;
    kernel->group[0] = x;
    kernel->group[1] = y;
    kernel->group[2] = z;
    return SUCCESS;
}

static uint32_t kernel_suggest_group_size(
        struct kernel* kernel, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t* x, uint32_t* y,
        uint32_t* z) {
    (void) gx, (void) gy, (void) gz;
    BEGIN("zeKernelSuggestGroupSize");
    CHECK(kernel, KERNEL);
    *x = (uint32_t) setting_number("GRANARY_ZE_SUGGEST", 16);
    *y = *z = 1;
    return SUCCESS;
}

static uint32_t kernel_set_argument(
        struct kernel* kernel, uint32_t index, size_t bytes, const void* value) {
    BEGIN("zeKernelSetArgumentValue");
    CHECK(kernel, KERNEL);
    if (index >= (uint32_t) kernel->code->parameters) return INVALID_ARGUMENT_INDEX;
    enum parameter type = kernel->code->parameter[index];
    struct argument* argument = &kernel->argument[index];
    size_t needed = type == BUFFER ? sizeof(void*) : sizeof(float);
    if (type == LOCAL ? value != NULL : !value || bytes != needed) return INVALID_ARGUMENT_SIZE;
    memset(argument, 0, sizeof *argument);
    if (value) memcpy(&argument->value, value, bytes);
    argument->bytes = bytes;
    argument->is_set = 1;
    return SUCCESS;
}

/* ---- lists ---- */

static uint32_t list_create_immediate(
        void* context, void* device, const char* description, void** list) {
    (void) device;
    BEGIN("zeCommandListCreateImmediate");
    CHECK(context, CONTEXT);
    uint32_t group, mode;
    memcpy(&group, description + 16, 4);
    memcpy(&mode, description + 28, 4);
    if (mode != 1) violation("a list is asynchronous: its commands may end after the call");
    return group == 1 /* the group of queues that executes kernels */
            ? created(object_create(LIST, sizeof(struct list), context), list)
            : INVALID_ARGUMENT;
}

static uint32_t list_destroy(struct list* list) {
    BEGIN("zeCommandListDestroy");
    if (list->is_in_use) violation("a list was destroyed that executes a command");
    return object_destroy(list, LIST);
}

/* Begins a command, which only one thread at a time may do. */
static void begin(struct list* list) {
    if (__atomic_exchange_n(&list->is_in_use, 1, __ATOMIC_ACQUIRE)) {
        violation("two threads use one list");
    }
}

static void end(struct list* list) {
    __atomic_store_n(&list->is_in_use, 0, __ATOMIC_RELEASE);
}

static uint32_t append_launch(
        struct list* list, struct kernel* kernel, const uint32_t* groups, void* signal,
        uint32_t count, void** after) {
    (void) signal, (void) count, (void) after;
    BEGIN("zeCommandListAppendLaunchKernel");
    CHECK(list, LIST);
    CHECK(kernel, KERNEL);
    size_t items = (size_t) groups[0] * kernel->group[0] * groups[1] * kernel->group[1]
            * groups[2] * kernel->group[2];
    begin(list);
    pause_millis("GRANARY_ZE_LAUNCH_MILLIS");
    uint32_t status = kernel_execute(kernel->code, kernel->argument, items, kernel->group[0]);
    end(list);
    return status;
}

static uint32_t append_copy(
        struct list* list, void* to, const void* from, size_t bytes, void* signal,
        uint32_t count, void** after) {
    (void) signal, (void) count, (void) after;
    BEGIN("zeCommandListAppendMemoryCopy");
    CHECK(list, LIST);
    if (memory_contains(to, bytes) == memory_contains(from, bytes)) {
        violation("a copy is not between host and device, or outside of allocated memory");
        return INVALID_ARGUMENT;
    }
    begin(list);
    memcpy(to, from, bytes);
    end(list);
    return SUCCESS;
}

/* ---- tables ---- */

EXPORT uint32_t zeGetKernelProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) kernel_create;
    table[1] = (void*) kernel_destroy;
    table[3] = (void*) kernel_set_group_size;
    table[4] = (void*) kernel_suggest_group_size;
    table[6] = (void*) kernel_set_argument;
    table[10] = (void*) kernel_properties;
    return SUCCESS;
}

EXPORT uint32_t zeGetCommandListProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[1] = (void*) list_create_immediate;
    table[2] = (void*) list_destroy;
    table[8] = (void*) append_copy;
    table[22] = (void*) append_launch;
    return SUCCESS;
}
