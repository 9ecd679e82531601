/* A record with its place as an object: a head and nine references, which are set once.
 * A record that was decoded here is not an object of the garbage collector, because bytes, strings and integers cannot
 * refer back to it. It has no head for the collector, and does not bring the next collection closer. Records that the
 * constructor made may hold any object, and are collected. They may hold each other in a chain of any length, which is
 * freed without recursion (Py_TRASHCAN). */
#ifndef KW_CONSUMER_RECORD_H
#define KW_CONSUMER_RECORD_H
#include "_object.h"

enum { KW_TOPIC, KW_PARTITION, KW_OFFSET, KW_TIMESTAMP, KW_TIMESTAMP_TYPE, KW_KEY, KW_VALUE, KW_HEADERS, KW_EPOCH, KW_FIELDS };

typedef struct {
    PyObject_HEAD
    PyObject *fields[KW_FIELDS];
    int is_decoded;
} kw_placed;

/* What the records of one batch share. */
typedef struct {
    PyTypeObject *cls;
    PyObject *topic, *partition, *timestamp_type, *leader_epoch;
} kw_place;

static inline PyObject *kw_placed_object(const kw_place *place, const kw_record *r, PyObject *timestamp, PyObject *headers) {
    kw_placed *object = NULL;
    PyObject *offset = PyLong_FromLongLong(r->offset);
    PyObject *key = kw_bytes_or_none(r->key, r->key_size);
    PyObject *value = kw_bytes_or_none(r->value, r->value_size);
    if (KW_LIKELY(offset && key && value)) object = PyObject_New(kw_placed, place->cls);
    if (object == NULL) {
        Py_XDECREF(offset);
        Py_XDECREF(key);
        Py_XDECREF(value);
        return NULL;
    }
    object->fields[KW_TOPIC] = Py_NewRef(place->topic);
    object->fields[KW_PARTITION] = Py_NewRef(place->partition);
    object->fields[KW_OFFSET] = offset;
    object->fields[KW_TIMESTAMP] = Py_NewRef(timestamp);
    object->fields[KW_TIMESTAMP_TYPE] = Py_NewRef(place->timestamp_type);
    object->fields[KW_KEY] = key;
    object->fields[KW_VALUE] = value;
    object->fields[KW_HEADERS] = Py_NewRef(headers);
    object->fields[KW_EPOCH] = Py_NewRef(place->leader_epoch);
    object->is_decoded = 1;
    return (PyObject *)object;
}

static int kw_is_collected(PyObject *self) { return !((kw_placed *)self)->is_decoded; }

static void kw_drop_fields(kw_placed *object) {
    int i;
    for (i = 0; i < KW_FIELDS; i++) Py_XDECREF(object->fields[i]);
}

static void kw_drop_placed(PyObject *self) {
    kw_placed *object = (kw_placed *)self;
    PyTypeObject *cls = Py_TYPE(self);
    if (object->is_decoded) {
        kw_drop_fields(object);
        PyObject_Free(self);
        if (cls->tp_flags & Py_TPFLAGS_HEAPTYPE) Py_DECREF(cls); /* as its instances hold it */
        return;
    }
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, kw_drop_placed)
    kw_drop_fields(object);
    PyObject_GC_Del(self);
    if (cls->tp_flags & Py_TPFLAGS_HEAPTYPE) Py_DECREF(cls);
    Py_TRASHCAN_END
}

/* Let a class of this layout have instances of both kinds. */
static int kw_adopt_placed(PyTypeObject *cls) {
#define KW_FIELD(name, at) {name, T_OBJECT_EX, offsetof(kw_placed, fields) + (at) * sizeof(PyObject *), READONLY, NULL}
    static PyMemberDef members[KW_FIELDS] = {
        KW_FIELD("topic", KW_TOPIC),
        KW_FIELD("partition", KW_PARTITION),
        KW_FIELD("offset", KW_OFFSET),
        KW_FIELD("timestamp", KW_TIMESTAMP),
        KW_FIELD("timestamp_type", KW_TIMESTAMP_TYPE),
        KW_FIELD("key", KW_KEY),
        KW_FIELD("value", KW_VALUE),
        KW_FIELD("headers", KW_HEADERS),
        KW_FIELD("leader_epoch", KW_EPOCH),
    };
#undef KW_FIELD
    if (kw_show_fields(cls, members, KW_FIELDS, sizeof(kw_placed))) return -1;
    cls->tp_dealloc = kw_drop_placed;
    cls->tp_is_gc = kw_is_collected;
    cls->tp_flags |= Py_TPFLAGS_SEQUENCE; /* for `match`, as Sequence.register does for a class of Python */
    return 0;
}
#endif
