/* Arrow's C data interface: its structure, and the ownership of memory through it. */
#ifndef KW_ARROW_H
#define KW_ARROW_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

/* Frees the buffers (each from malloc, or NULL) and the children; runs without Python. */
static void kw_arrow_release(struct ArrowArray *array) {
    int64_t i;
    for (i = 0; i < array->n_buffers; i++) free((void *)array->buffers[i]);
    for (i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child != NULL) {
            if (child->release != NULL) child->release(child);
            free(child);
        }
    }
    free(array->buffers);
    free(array->children);
    array->release = NULL;
}

/* An array that owns its buffers and children; -1 if there is no memory, and then it owns nothing. */
static int kw_arrow_init(struct ArrowArray *array, int64_t length, int64_t nulls, int64_t buffers, int64_t children) {
    int64_t i;
    memset(array, 0, sizeof *array);
    array->buffers = (const void **)calloc((size_t)buffers + 1, sizeof(void *));
    array->children = (struct ArrowArray **)calloc((size_t)children + 1, sizeof(void *));
    if (array->buffers == NULL || array->children == NULL) {
        free(array->buffers);
        free(array->children);
        return -1;
    }
    array->length = length;
    array->null_count = nulls;
    array->n_buffers = buffers;
    array->n_children = children;
    array->release = kw_arrow_release;
    for (i = 0; i < children; i++) {
        array->children[i] = (struct ArrowArray *)calloc(1, sizeof(struct ArrowArray));
        if (array->children[i] == NULL) {
            kw_arrow_release(array);
            return -1;
        }
    }
    return 0;
}
#endif
