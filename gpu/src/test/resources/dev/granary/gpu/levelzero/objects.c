/* Settings, counts and objects of the test driver, for the tests to control and to observe. */
#include "driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ENTRIES 128
#define DEAD 0

struct entry {
    char name[MAX_NAME];
    char value[256];
    long count;
};

struct block {
    struct object head;
    char* address;
    size_t bytes;
    struct block* next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry settings[MAX_ENTRIES];
static struct entry calls[MAX_ENTRIES];
static long live[KINDS];
static struct block* blocks;
static long violations;
static char last_violation[256];

static struct entry* entry(struct entry* table, const char* name) {
    for (int i = 0; i < MAX_ENTRIES; i++) {
        if (!table[i].name[0]) {
            snprintf(table[i].name, MAX_NAME, "%s", name);
        }
        if (!strcmp(table[i].name, name)) {
            return &table[i];
        }
    }
    abort();
}

/* Overrides a setting of the environment; an empty value has the effect of none. */
EXPORT void granary_ze_set(const char* name, const char* value) {
    pthread_mutex_lock(&lock);
    struct entry* of = entry(settings, name);
    of->count = 1; /* set */
    snprintf(of->value, sizeof of->value, "%s", value);
    pthread_mutex_unlock(&lock);
}

EXPORT long granary_ze_calls(const char* function) {
    pthread_mutex_lock(&lock);
    long count = entry(calls, function)->count;
    pthread_mutex_unlock(&lock);
    return count;
}

EXPORT long granary_ze_live(void) {
    pthread_mutex_lock(&lock);
    long all = 0;
    for (int kind = 1; kind < KINDS; kind++) {
        all += live[kind];
    }
    pthread_mutex_unlock(&lock);
    return all;
}

EXPORT void granary_ze_forget(void) {
    pthread_mutex_lock(&lock);
    memset(live, 0, sizeof live);
    violations = 0;
    pthread_mutex_unlock(&lock);
}

EXPORT long granary_ze_violations(void) { return violations; }

EXPORT const char* granary_ze_last_violation(void) { return last_violation; }

static const char* value_of(const char* name) {
    struct entry* of = entry(settings, name);
    const char* value = of->count ? of->value : getenv(name);
    return value && value[0] ? value : NULL;
}

const char* setting(const char* name) {
    pthread_mutex_lock(&lock);
    const char* value = value_of(name);
    pthread_mutex_unlock(&lock);
    return value;
}

long setting_number(const char* name, long otherwise) {
    const char* value = setting(name);
    return value ? strtol(value, NULL, 0) : otherwise;
}

/* GRANARY_ZE_FAIL has the form function=status, or function=status*number of failures. */
uint32_t called(const char* function) {
    uint32_t status = SUCCESS;
    pthread_mutex_lock(&lock);
    entry(calls, function)->count++;
    const char* failing = value_of("GRANARY_ZE_FAIL");
    size_t length = strlen(function);
    if (failing && !strncmp(failing, function, length) && failing[length] == '=') {
        char* end;
        status = (uint32_t) strtoul(failing + length + 1, &end, 0);
        if (*end == '*') {
            long left = strtol(end + 1, NULL, 0);
            struct entry* of = entry(settings, "GRANARY_ZE_FAIL");
            of->count = 1;
            if (left > 1) {
                snprintf(of->value, sizeof of->value, "%s=0x%x*%ld", function, status, left - 1);
            } else {
                of->value[0] = 0;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void violated(const char* rule) {
    violations++;
    snprintf(last_violation, sizeof last_violation, "%s", rule);
}

void violation(const char* rule) {
    pthread_mutex_lock(&lock);
    violated(rule);
    pthread_mutex_unlock(&lock);
}

static void begin(struct object* object, enum kind kind, void* parent) {
    object->kind = kind;
    object->parent = parent;
    live[kind]++;
    if (parent) {
        object->parent->children++;
    }
}

void* object_create(enum kind kind, size_t bytes, void* parent) {
    struct object* object = calloc(1, bytes);
    if (object) {
        pthread_mutex_lock(&lock);
        begin(object, kind, parent);
        pthread_mutex_unlock(&lock);
    }
    return object;
}

static uint32_t end(struct object* object, enum kind kind) {
    if (!object || object->kind != kind) {
        violated("an object was destroyed twice, or is of another kind");
        return INVALID_NULL_HANDLE;
    }
    if (object->children > 0) {
        violated("an object was destroyed before those made from it");
    }
    object->kind = DEAD; /* its memory stays, so that later use is detected */
    live[kind]--;
    if (object->parent) {
        object->parent->children--;
    }
    return SUCCESS;
}

uint32_t object_destroy(void* object, enum kind kind) {
    pthread_mutex_lock(&lock);
    uint32_t status = end(object, kind);
    pthread_mutex_unlock(&lock);
    return status;
}

uint32_t object_check(const void* object, enum kind kind) {
    if (object && ((const struct object*) object)->kind == kind) {
        return SUCCESS;
    }
    violation("an object was used that is destroyed, or of another kind");
    return INVALID_NULL_HANDLE;
}

void pause_millis(const char* name) {
    long millis = setting_number(name, 0);
    struct timespec time = {millis / 1000, millis % 1000 * 1000000};
    if (millis > 0) {
        nanosleep(&time, NULL);
    }
}

uint32_t created(void* object, void** handle) {
    *handle = object;
    return object ? SUCCESS : OUT_OF_HOST_MEMORY;
}

void* memory_allocate(void* context, size_t bytes) {
    struct block* block = calloc(1, sizeof *block);
    void* address;
    if (!block || posix_memalign(&address, 4096, bytes)) {
        return NULL;
    }
    memset(address, 0xa5, bytes); /* undefined content */
    block->address = address;
    block->bytes = bytes;
    pthread_mutex_lock(&lock);
    begin(&block->head, MEMORY, context);
    block->next = blocks;
    blocks = block;
    pthread_mutex_unlock(&lock);
    return address;
}

uint32_t memory_free(void* address) {
    pthread_mutex_lock(&lock);
    uint32_t status = INVALID_ARGUMENT;
    for (struct block** at = &blocks; *at; at = &(*at)->next) {
        if ((*at)->address == address) {
            struct block* block = *at;
            *at = block->next;
            status = end(&block->head, MEMORY);
            free(block->address);
            free(block);
            break;
        }
    }
    if (status != SUCCESS) {
        violated("memory was freed that is not allocated");
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int memory_contains(const void* address, size_t bytes) {
    const char* first = address;
    int found = 0;
    pthread_mutex_lock(&lock);
    for (struct block* block = blocks; block && !found; block = block->next) {
        found = first >= block->address
                && bytes <= block->bytes
                && first + bytes <= block->address + block->bytes;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
