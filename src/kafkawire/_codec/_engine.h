/* Functions that Cython cannot express: unaligned big-endian loads and stores, slot offsets, views and uuids. */
#pragma once
#include <Python.h>
#include <structmember.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define kw_swap16 __builtin_bswap16
#define kw_swap32 __builtin_bswap32
#define kw_swap64 __builtin_bswap64
#else
#include <stdlib.h>
#define kw_swap16 _byteswap_ushort
#define kw_swap32 _byteswap_ulong
#define kw_swap64 _byteswap_uint64
#endif
#if PY_BIG_ENDIAN
#undef kw_swap16
#undef kw_swap32
#undef kw_swap64
#define kw_swap16(x) (x)
#define kw_swap32(x) (x)
#define kw_swap64(x) (x)
#endif

static inline uint16_t kw_load16(const unsigned char *p) { uint16_t v; memcpy(&v, p, 2); return kw_swap16(v); }
static inline uint32_t kw_load32(const unsigned char *p) { uint32_t v; memcpy(&v, p, 4); return kw_swap32(v); }
static inline uint64_t kw_load64(const unsigned char *p) { uint64_t v; memcpy(&v, p, 8); return kw_swap64(v); }
static inline void kw_store16(unsigned char *p, uint16_t v) { v = kw_swap16(v); memcpy(p, &v, 2); }
static inline void kw_store32(unsigned char *p, uint32_t v) { v = kw_swap32(v); memcpy(p, &v, 4); }
static inline void kw_store64(unsigned char *p, uint64_t v) { v = kw_swap64(v); memcpy(p, &v, 8); }
static inline double kw_double(uint64_t v) { double d; memcpy(&d, &v, 8); return d; }
static inline uint64_t kw_bits(double d) { uint64_t v; memcpy(&v, &d, 8); return v; }

/* Offset of a slot in its instances, or -1 if the descriptor is not that of a slot. */
static inline Py_ssize_t kw_slot_offset(PyObject *descriptor)
{
    if (Py_TYPE(descriptor) != &PyMemberDescr_Type) return -1;
    return ((PyMemberDescrObject *)descriptor)->d_member->offset;
}

static inline PyObject *kw_alloc(PyTypeObject *type) { return type->tp_alloc(type, 0); }

/* A view of a part of a one-dimensional view of bytes, like a slice, without building a slice object. */
static inline PyObject *kw_subview(PyObject *base, const unsigned char *start, Py_ssize_t size)
{
    PyObject *view = PyMemoryView_FromObject(base);
    if (view == NULL) return NULL;
    Py_buffer *buffer = PyMemoryView_GET_BUFFER(view);
    buffer->buf = (void *)start;
    buffer->len = size;
    buffer->shape[0] = size;
    return view;
}

static inline PyObject *kw_uint128(const unsigned char *p) { return _PyLong_FromByteArray(p, 16, 0, 0); }

static inline int kw_store_uint128(PyObject *value, unsigned char *out)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _PyLong_AsByteArray((PyLongObject *)value, out, 16, 0, 0, 1);
#else
    return _PyLong_AsByteArray((PyLongObject *)value, out, 16, 0, 0);
#endif
}
