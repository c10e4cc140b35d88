/* The Level Zero driver of Granary's tests: declarations that its files share. */
#ifndef GRANARY_TEST_DRIVER_H
#define GRANARY_TEST_DRIVER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define SUCCESS 0u
#define DEVICE_LOST 0x70000001u
#define OUT_OF_HOST_MEMORY 0x70000002u
#define BUILD_FAILURE 0x70000004u
#define INVALID_ARGUMENT 0x78000004u
#define INVALID_NULL_HANDLE 0x78000005u
#define INVALID_SIZE 0x78000008u
#define INVALID_NATIVE_BINARY 0x7800000fu
#define INVALID_KERNEL_NAME 0x78000011u
#define INVALID_GROUP_SIZE 0x78000013u
#define INVALID_ARGUMENT_INDEX 0x78000015u
#define INVALID_ARGUMENT_SIZE 0x78000016u

#define MAX_KERNELS 8
#define MAX_PARAMETERS 8
#define MAX_OPERATIONS 8
#define MAX_NAME 64

#define BEGIN(function) \
    do { \
        uint32_t demanded = called(function); \
        if (demanded) return demanded; \
    } while (0)
#define CHECK(object, kind) \
    do { \
        uint32_t checked = object_check(object, kind); \
        if (checked) return checked; \
    } while (0)

#define EXPORT __attribute__((visibility("default")))

/* ---- objects.c: settings, counts and objects ---- */

enum kind { CONTEXT = 1, LIST, MODULE, KERNEL, MEMORY, LOG, KINDS };

/* The head of every object. */
struct object {
    enum kind kind;
    struct object* parent;
    int children;
};

/* Returns a setting of a test or of the environment; NULL if there is none. */
const char* setting(const char* name);
long setting_number(const char* name, long otherwise);

/* Counts a call. Returns the status that a test demands for it, or SUCCESS. */
uint32_t called(const char* function);

/* Pauses for the milliseconds of a setting. */
void pause_millis(const char* name);

/* Creates a zeroed object of that many bytes; NULL without memory. */
void* object_create(enum kind kind, size_t bytes, void* parent);

/* Ends an object. Returns a failure, and counts a violation, if that is not allowed. */
uint32_t object_destroy(void* object, enum kind kind);

/* Returns SUCCESS if the object is alive and of that kind; else counts a violation. */
uint32_t object_check(const void* object, enum kind kind);

/* Stores a new object. Returns a failure if there was no memory for it. */
uint32_t created(void* object, void** handle);

void violation(const char* rule);

/* Device memory. */
void* memory_allocate(void* context, size_t bytes);
uint32_t memory_free(void* address);
/* Returns 1 if these bytes are inside one block of device memory. */
int memory_contains(const void* address, size_t bytes);

/* ---- vector.c: programs in the vector format ---- */

enum parameter { BUFFER, FLOAT, LOCAL };
enum operation_code { ADD, SUBTRACT, MULTIPLY, TIMES, REVERSE, FAIL };

struct operation {
    enum operation_code code;
    int to, a, b;
};

struct kernel_code {
    char name[MAX_NAME];
    int parameters, operations;
    enum parameter parameter[MAX_PARAMETERS];
    struct operation operation[MAX_OPERATIONS];
};

struct program {
    int kernels;
    struct kernel_code kernel[MAX_KERNELS];
};

/* The value of an argument: an address, a number, or the size of local memory. */
struct argument {
    int is_set;
    size_t bytes;
    union {
        void* address;
        float number;
    } value;
};

/* Parses a text. Returns 1, or 0 with a message in the log. */
int program_parse(const char* text, size_t bytes, struct program* program, char* log, size_t room);

/* Executes a kernel for that many work-items in groups. Returns a status. */
uint32_t kernel_execute(
        const struct kernel_code* code, const struct argument* arguments, size_t items,
        size_t group);

/* ---- objects with calls in several files ---- */

struct module {
    struct object head;
    char* text;
    size_t bytes;
    struct program program;
};

#endif
