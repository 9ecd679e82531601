/* A record as an object: a head and five references.
 * Records are created and freed by the million, so they come from a free list, and their fields are set once. */
#ifndef KW_OBJECT_H
#define KW_OBJECT_H
#include <Python.h>
#include <structmember.h>
#include "_record.h"

typedef struct {
    PyObject_HEAD
    PyObject *offset, *timestamp, *key, *value, *headers;
} kw_object;

#ifdef Py_GIL_DISABLED
#define KW_SPARE 0 /* nothing guards the list there */
#else
#define KW_SPARE 256
#endif

static kw_object *kw_spare[KW_SPARE + 1];
static int kw_spare_count = 0;

static inline PyObject *kw_bytes_or_none(const uint8_t *data, int32_t size) {
    return data == NULL ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize((const char *)data, size);
}

/* A new object of the class from a record; the timestamp and the headers are objects already. */
static inline PyObject *kw_record_object(PyTypeObject *cls, const kw_record *r, PyObject *timestamp, PyObject *headers) {
    kw_object *object = NULL;
    PyObject *offset = PyLong_FromLongLong(r->offset);
    PyObject *key = kw_bytes_or_none(r->key, r->key_size);
    PyObject *value = kw_bytes_or_none(r->value, r->value_size);
    if (KW_LIKELY(offset && key && value)) {
        if (KW_LIKELY(kw_spare_count > 0)) {
            object = kw_spare[--kw_spare_count];
            _Py_NewReference((PyObject *)object);
        } else {
            object = (kw_object *)cls->tp_alloc(cls, 0);
        }
    }
    if (object == NULL) {
        Py_XDECREF(offset);
        Py_XDECREF(key);
        Py_XDECREF(value);
        return NULL;
    }
    object->offset = offset;
    object->timestamp = Py_NewRef(timestamp);
    object->key = key;
    object->value = value;
    object->headers = Py_NewRef(headers);
    return (PyObject *)object;
}

static void kw_drop_object(PyObject *self) {
    kw_object *object = (kw_object *)self;
    PyTypeObject *cls = Py_TYPE(self);
    Py_XDECREF(object->offset);
    Py_XDECREF(object->timestamp);
    Py_XDECREF(object->key);
    Py_XDECREF(object->value);
    Py_XDECREF(object->headers);
    if (kw_spare_count < KW_SPARE) {
        kw_spare[kw_spare_count++] = object;
        return;
    }
    cls->tp_free(self);
    if (cls->tp_flags & Py_TPFLAGS_HEAPTYPE) Py_DECREF(cls); /* as its instances hold it */
}

/* Show the fields of a class as slots are shown: the interpreter reads those at several times the speed of properties. */
static int kw_show_fields(PyTypeObject *cls, PyMemberDef *members, size_t count, Py_ssize_t size) {
    size_t i;
    if (cls->tp_basicsize != size) {
        PyErr_SetString(PyExc_ImportError, "records are not laid out as expected");
        return -1;
    }
    for (i = 0; i < count; i++) {
        PyObject *shown = PyDescr_NewMember(cls, &members[i]);
        int failed = shown == NULL || PyDict_SetItemString(cls->tp_dict, members[i].name, shown);
        Py_XDECREF(shown);
        if (failed) return -1;
    }
    PyType_Modified(cls);
    return 0;
}

/* Let a class of this layout use the free list. */
static int kw_adopt_class(PyTypeObject *cls) {
    static PyMemberDef members[] = {
        {"offset", T_OBJECT_EX, offsetof(kw_object, offset), READONLY, NULL},
        {"timestamp", T_OBJECT_EX, offsetof(kw_object, timestamp), READONLY, NULL},
        {"key", T_OBJECT_EX, offsetof(kw_object, key), READONLY, NULL},
        {"value", T_OBJECT_EX, offsetof(kw_object, value), READONLY, NULL},
        {"headers", T_OBJECT_EX, offsetof(kw_object, headers), READONLY, NULL},
    };
    if (kw_show_fields(cls, members, sizeof(members) / sizeof(members[0]), sizeof(kw_object))) return -1;
    cls->tp_dealloc = kw_drop_object;
    return 0;
}
#endif
