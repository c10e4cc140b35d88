/* The test driver's kernels, command lists, queues and events. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_GROUP 1024

enum state { RESET, IN_PROGRESS, SIGNALLED };

struct kernel {
    struct object head;
    const struct kernel_code* code;
    uint32_t group[3];
    struct argument argument[MAX_PARAMETERS];
};

struct event {
    struct object head;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum state state;
    uint32_t status;
};

struct command {
    struct command* next;
    struct event* event;
    const struct kernel_code* code; /* of a launch; NULL for a copy */
    struct argument argument[MAX_PARAMETERS];
    size_t items, group;
    void* to;
    const void* from;
    size_t bytes;
};

struct list {
    struct object head;
    int is_immediate, is_closed;
    struct command *first, *last;
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

/* ---- events ---- */

static uint32_t pool_create(
        void* context, const void* description, uint32_t count, void** of, void** pool) {
    (void) description, (void) count, (void) of;
    BEGIN("zeEventPoolCreate");
    CHECK(context, CONTEXT);
    return created(object_create(POOL, sizeof(struct object), context), pool);
}

static uint32_t pool_destroy(void* pool) {
    BEGIN("zeEventPoolDestroy");
    return object_destroy(pool, POOL);
}

static uint32_t event_create(void* pool, const void* description, void** handle) {
    (void) description;
    BEGIN("zeEventCreate");
    CHECK(pool, POOL);
    struct event* event = object_create(EVENT, sizeof *event, pool);
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->changed, NULL);
    return created(event, handle);
}

static uint32_t event_destroy(struct event* event) {
    BEGIN("zeEventDestroy");
    if (event->state == IN_PROGRESS) violation("an event was destroyed that a command signals");
    return object_destroy(event, EVENT);
}

static void event_set(struct event* event, enum state state, uint32_t status) {
    pthread_mutex_lock(&event->lock);
    event->state = state;
    event->status = status;
    pthread_cond_broadcast(&event->changed);
    pthread_mutex_unlock(&event->lock);
}

static uint32_t event_reset(struct event* event) {
    BEGIN("zeEventHostReset");
    CHECK(event, EVENT);
    if (event->state == IN_PROGRESS) violation("an event was reset that a command signals");
    event_set(event, RESET, SUCCESS);
    return SUCCESS;
}

static uint32_t event_synchronize(struct event* event, uint64_t timeout) {
    (void) timeout;
    uint32_t demanded = called("zeEventHostSynchronize");
    CHECK(event, EVENT);
    if (event->state == RESET) violation("a wait for an event that no command signals");
    pthread_mutex_lock(&event->lock);
    while (event->state == IN_PROGRESS) pthread_cond_wait(&event->changed, &event->lock);
    uint32_t status = event->state == SIGNALLED ? event->status : NOT_READY;
    pthread_mutex_unlock(&event->lock);
    return demanded ? demanded : status; /* the command has ended, as after a lost device */
}

/* ---- lists and queues ---- */

static uint32_t execute(const struct command* command) {
    if (command->code) {
        pause_millis("GRANARY_ZE_LAUNCH_MILLIS");
        return kernel_execute(command->code, command->argument, command->items, command->group);
    }
    memcpy(command->to, command->from, command->bytes);
    return SUCCESS;
}

static void* run(void* argument) {
    struct command* command = argument;
    uint32_t status = execute(command);
    event_set(command->event, SIGNALLED, status);
    free(command);
    return NULL;
}

/* Takes a command: starts it in an immediate list, records it in another one. */
static uint32_t append(struct list* list, struct command from) {
    if (list->is_closed) return INVALID_ARGUMENT;
    struct command* command = malloc(sizeof *command);
    *command = from;
    if (!list->is_immediate) {
        if (list->last) list->last->next = command;
        else list->first = command;
        list->last = command;
        return SUCCESS;
    }
    if (!command->event || command->event->state != RESET) {
        violation("a command was appended without an event, or with one in use");
        free(command);
        return INVALID_ARGUMENT;
    }
    event_set(command->event, IN_PROGRESS, SUCCESS);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, command)) {
        event_set(command->event, RESET, SUCCESS);
        free(command);
        return OUT_OF_HOST_MEMORY;
    }
    pthread_detach(thread);
    return SUCCESS;
}

static uint32_t new_list(void* context, int is_immediate, void** handle) {
    CHECK(context, CONTEXT);
    struct list* list = object_create(LIST, sizeof *list, context);
    list->is_immediate = is_immediate;
    return created(list, handle);
}

static uint32_t checked_group(const char* description) {
    uint32_t group;
    memcpy(&group, description + 16, 4);
    return group == 1 ? SUCCESS : INVALID_ARGUMENT; /* the group of queues that executes kernels */
}

static uint32_t list_create(void* context, void* device, const char* description, void** list) {
    (void) device;
    BEGIN("zeCommandListCreate");
    return checked_group(description) ? INVALID_ARGUMENT : new_list(context, 0, list);
}

static uint32_t list_create_immediate(
        void* context, void* device, const char* description, void** list) {
    (void) device;
    BEGIN("zeCommandListCreateImmediate");
    return checked_group(description) ? INVALID_ARGUMENT : new_list(context, 1, list);
}

static uint32_t list_destroy(struct list* list) {
    BEGIN("zeCommandListDestroy");
    return object_destroy(list, LIST);
}

static uint32_t list_close(struct list* list) {
    BEGIN("zeCommandListClose");
    CHECK(list, LIST);
    list->is_closed = 1;
    return SUCCESS;
}

static uint32_t append_launch(
        struct list* list, struct kernel* kernel, const uint32_t* groups, struct event* signal,
        uint32_t count, void** after) {
    (void) count, (void) after;
    BEGIN("zeCommandListAppendLaunchKernel");
    CHECK(list, LIST);
    CHECK(kernel, KERNEL);
    struct command command = {.event = signal, .code = kernel->code, .group = kernel->group[0]};
    command.items = (size_t) groups[0] * kernel->group[0] * groups[1] * kernel->group[1]
            * groups[2] * kernel->group[2];
    memcpy(command.argument, kernel->argument, sizeof command.argument);
    return append(list, command);
}

static uint32_t append_copy(
        struct list* list, void* to, const void* from, size_t bytes, struct event* signal,
        uint32_t count, void** after) {
    (void) count, (void) after;
    BEGIN("zeCommandListAppendMemoryCopy");
    CHECK(list, LIST);
    if (memory_contains(to, bytes) == memory_contains(from, bytes)) {
        violation("a copy is not between host and device, or outside of allocated memory");
        return INVALID_ARGUMENT;
    }
    return append(
            list, (struct command) {.event = signal, .to = to, .from = from, .bytes = bytes});
}

static uint32_t append_barrier(struct list* list, void* signal, uint32_t count, void** after) {
    (void) signal, (void) count, (void) after;
    BEGIN("zeCommandListAppendBarrier");
    return object_check(list, LIST); /* commands of a closed list run in their order */
}

static uint32_t queue_create(void* context, void* device, const char* description, void** queue) {
    (void) device;
    BEGIN("zeCommandQueueCreate");
    CHECK(context, CONTEXT);
    return checked_group(description)
            ? INVALID_ARGUMENT
            : created(object_create(QUEUE, sizeof(struct object), context), queue);
}

static uint32_t queue_destroy(void* queue) {
    BEGIN("zeCommandQueueDestroy");
    return object_destroy(queue, QUEUE);
}

static uint32_t queue_execute(void* queue, uint32_t count, struct list** lists, void* fence) {
    (void) fence;
    BEGIN("zeCommandQueueExecuteCommandLists");
    CHECK(queue, QUEUE);
    uint32_t status = SUCCESS;
    for (uint32_t i = 0; i < count && !status; i++) {
        CHECK(lists[i], LIST);
        if (!lists[i]->is_closed) return INVALID_ARGUMENT;
        for (struct command* at = lists[i]->first; at && !status; at = at->next) {
            status = execute(at);
        }
    }
    return status;
}

static uint32_t queue_synchronize(void* queue, uint64_t timeout) {
    (void) timeout;
    BEGIN("zeCommandQueueSynchronize");
    return object_check(queue, QUEUE);
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

EXPORT uint32_t zeGetEventPoolProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) pool_create;
    table[1] = (void*) pool_destroy;
    return SUCCESS;
}

EXPORT uint32_t zeGetEventProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) event_create;
    table[1] = (void*) event_destroy;
    table[3] = (void*) event_synchronize;
    table[5] = (void*) event_reset;
    return SUCCESS;
}

EXPORT uint32_t zeGetCommandListProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) list_create;
    table[1] = (void*) list_create_immediate;
    table[2] = (void*) list_destroy;
    table[3] = (void*) list_close;
    table[6] = (void*) append_barrier;
    table[8] = (void*) append_copy;
    table[22] = (void*) append_launch;
    return SUCCESS;
}

EXPORT uint32_t zeGetCommandQueueProcAddrTable(uint32_t version, void** table) {
    (void) version;
    table[0] = (void*) queue_create;
    table[1] = (void*) queue_destroy;
    table[2] = (void*) queue_execute;
    table[3] = (void*) queue_synchronize;
    return SUCCESS;
}
