/*
 * Programs of the test driver: kernels over vectors of floats, as text.
 *
 *     granary vector program
 *     kernel scale buffer buffer float
 *       mul 1 0 2
 *
 * A line declares a kernel with the types of its parameters (buffer, float, local), or is an
 * operation of the last kernel: add, sub and mul take the numbers of three parameters, the result
 * first; a number is used for all elements. "times to from 3" multiplies by a constant, "reverse to
 * from local" reverses each group, "fail" loses the device. A line that begins with # is a comment.
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[] = "granary vector program";

static int find(const char* word, const char* const* words) {
    for (int i = 0; words[i]; i++) {
        if (!strcmp(word, words[i])) {
            return i;
        }
    }
    return -1;
}

static int parse_kernel(char* words, struct program* program) {
    static const char* const TYPES[] = {"buffer", "float", "local", NULL};
    char* rest = NULL;
    char* name = strtok_r(words, " \t", &rest);
    if (!name || strlen(name) >= MAX_NAME || program->kernels == MAX_KERNELS) {
        return 0;
    }
    struct kernel_code* kernel = &program->kernel[program->kernels++];
    strcpy(kernel->name, name);
    for (char* word; (word = strtok_r(NULL, " \t", &rest));) {
        int type = find(word, TYPES);
        if (type < 0 || kernel->parameters == MAX_PARAMETERS) {
            return 0;
        }
        kernel->parameter[kernel->parameters++] = (enum parameter) type;
    }
    return 1;
}

static int is(const struct kernel_code* kernel, int parameter, enum parameter type) {
    return parameter >= 0 && parameter < kernel->parameters
            && kernel->parameter[parameter] == type;
}

static int parse_operation(char* line, struct program* program) {
    static const char* const NAMES[] = {"add", "sub", "mul", "times", "reverse", "fail", NULL};
    char name[MAX_NAME] = "";
    int to = -1, a = -1, b = -1;
    sscanf(line, "%63s %d %d %d", name, &to, &a, &b);
    int code = find(name, NAMES);
    if (code < 0 || !program->kernels) {
        return 0;
    }
    struct kernel_code* kernel = &program->kernel[program->kernels - 1];
    if (kernel->operations == MAX_OPERATIONS) {
        return 0;
    }
    int valid;
    switch (code) {
        case FAIL: valid = 1; break;
        case TIMES: valid = is(kernel, to, BUFFER) && is(kernel, a, BUFFER); break;
        case REVERSE:
            valid = is(kernel, to, BUFFER) && is(kernel, a, BUFFER) && is(kernel, b, LOCAL);
            break;
        default:
            valid = is(kernel, to, BUFFER)
                    && (is(kernel, a, BUFFER) || is(kernel, a, FLOAT))
                    && (is(kernel, b, BUFFER) || is(kernel, b, FLOAT));
    }
    kernel->operation[kernel->operations++] =
            (struct operation) {(enum operation_code) code, to, a, b};
    return valid;
}

int program_parse(const char* text, size_t bytes, struct program* program, char* log, size_t room) {
    char* copy = strndup(text, bytes);
    char* rest = NULL;
    int number = 0, valid = 1;
    memset(program, 0, sizeof *program);
    for (char* line = strtok_r(copy, "\n", &rest); line && valid; number++) {
        line += strspn(line, " \t");
        char* next = strtok_r(NULL, "\n", &rest);
        if (number == 0) {
            valid = !strcmp(line, MAGIC);
        } else if (*line && *line != '#') {
            char shown[80];
            snprintf(shown, sizeof shown, "%s", line);
            valid = !strncmp(line, "kernel ", 7)
                    ? parse_kernel(line + 7, program)
                    : parse_operation(line, program);
            if (!valid) {
                snprintf(log, room, "error: line %d: %s", number + 1, shown);
            }
        }
        line = next;
    }
    if (number == 0 || (!valid && number <= 1)) {
        valid = 0;
        snprintf(log, room, "error: this is no vector program");
    }
    free(copy);
    return valid;
}

static float element(const struct kernel_code* code, const struct argument* arguments, int of,
        size_t index) {
    return code->parameter[of] == FLOAT
            ? arguments[of].value.number
            : ((const float*) arguments[of].value.address)[index];
}

uint32_t kernel_execute(
        const struct kernel_code* code, const struct argument* arguments, size_t items,
        size_t group) {
    for (int i = 0; i < code->parameters; i++) {
        if (!arguments[i].is_set) {
            return INVALID_ARGUMENT;
        }
        if (code->parameter[i] == BUFFER
                && !memory_contains(arguments[i].value.address, items * sizeof(float))) {
            violation("a kernel used memory that is not allocated");
            return DEVICE_LOST;
        }
        if (code->parameter[i] == LOCAL && arguments[i].bytes < group * sizeof(float)) {
            return DEVICE_LOST;
        }
    }
    for (int n = 0; n < code->operations; n++) {
        const struct operation* operation = &code->operation[n];
        if (operation->code == FAIL) {
            return DEVICE_LOST;
        }
        float* to = arguments[operation->to].value.address;
        for (size_t i = 0; i < items; i++) {
            if (operation->code == REVERSE) {
                size_t first = i / group * group;
                to[i] = element(code, arguments, operation->a, first + group - 1 - i % group);
                continue;
            }
            float a = element(code, arguments, operation->a, i);
            if (operation->code == TIMES) {
                to[i] = a * (float) operation->b;
                continue;
            }
            float b = element(code, arguments, operation->b, i);
            to[i] = operation->code == ADD ? a + b : operation->code == SUBTRACT ? a - b : a * b;
        }
    }
    return SUCCESS;
}
