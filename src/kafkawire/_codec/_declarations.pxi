# The declarations from C and from Python's C interface, and the structures of the engine.

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    void Py_INCREF(PyObject*)
    void Py_DECREF(PyObject*)
    void Py_XDECREF(PyObject*)
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False
    int PyObject_TypeCheck(PyObject*, PyTypeObject*)
    PyTypeObject* Py_TYPE(PyObject*)
    PyObject* PyLong_FromLong(long)
    PyObject* PyLong_FromLongLong(long long)
    PyObject* PyLong_FromUnsignedLong(unsigned long)
    long long PyLong_AsLongLongAndOverflow(PyObject*, int*)
    int PyLong_Check(PyObject*)
    int PyIndex_Check(PyObject*)
    PyObject* PyFloat_FromDouble(double)
    double PyFloat_AsDouble(PyObject*)
    PyObject* PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    const char* PyUnicode_AsUTF8AndSize(PyObject*, Py_ssize_t*)
    int PyUnicode_Check(PyObject*)
    PyObject* PyList_New(Py_ssize_t)
    void PyList_SET_ITEM(PyObject*, Py_ssize_t, PyObject*)
    PyObject* PyList_GET_ITEM(PyObject*, Py_ssize_t)
    int PyList_Check(PyObject*)
    int PyTuple_Check(PyObject*)
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t)
    Py_ssize_t PyList_GET_SIZE(PyObject*)
    Py_ssize_t PyTuple_GET_SIZE(PyObject*)
    int PyBytes_CheckExact(PyObject*)
    char* PyBytes_AS_STRING(PyObject*)
    Py_ssize_t PyBytes_GET_SIZE(PyObject*)
    int PyObject_RichCompareBool(PyObject*, PyObject*, int)
    int PyObject_IsTrue(PyObject*)
    int Py_EQ
    void PyErr_Clear()
    PyObject* PyErr_Occurred()
    int PyGC_Disable()
    int PyGC_Enable()

cdef extern from "_engine.h":
    uint16_t kw_load16(const unsigned char*) nogil
    uint32_t kw_load32(const unsigned char*) nogil
    uint64_t kw_load64(const unsigned char*) nogil
    void kw_store16(unsigned char*, uint16_t) nogil
    void kw_store32(unsigned char*, uint32_t) nogil
    void kw_store64(unsigned char*, uint64_t) nogil
    double kw_double(uint64_t) nogil
    uint64_t kw_bits(double) nogil
    Py_ssize_t kw_slot_offset(PyObject*)
    PyObject* kw_alloc(PyTypeObject*)
    PyObject* kw_subview(PyObject*, const unsigned char*, Py_ssize_t)
    PyObject* kw_uint128(const unsigned char*)
    int kw_store_uint128(PyObject*, unsigned char*)

# The operation codes, default kinds and faults of plan.py and errors.py; `_check_numbers` compares them at import.
cdef enum:
    BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID_, STRING, BYTES, RECORDS, STRUCT
cdef enum:
    VALUE, LIST, DEFAULT_STRUCT
cdef enum:
    PAST_END, LENGTH, COUNT, NULL_VALUE, NEGATIVE, TEXT, VARINT, TAG_VERSION, TAG_SIZE, TRAILING, ELEMENTS
cdef enum:
    STRING_LIMIT = 32767
    MOST_TAGS = 64
    FIRST_ROOM = 1024
    SHARED_EVERY = 4096  # elements between two moments at which other threads may run

cdef struct CSlot:
    Py_ssize_t offset
    int default_kind
    PyObject* default
    CShape* shape
    PyObject* name

cdef struct CShape:
    PyTypeObject* type
    int count
    CSlot* slots
    Py_ssize_t unknown  # offset of the slot of unknown tags
    PyObject* name

cdef struct CStep:
    CSlot slot
    int code
    bint is_array
    bint compact
    bint nullable
    int64_t tag
    Py_ssize_t element_minimum
    CPlan* plan

cdef struct CAbsent:
    CSlot slot
    bint droppable

cdef struct CPlan:
    CShape* shape
    int step_count
    CStep* steps
    int tagged_count
    CStep* tagged
    int absent_count
    CAbsent* absent
    bint flexible
    PyObject* foreign_tags

cdef object _empty_tuple = ()
cdef PyObject* NO_TAGS = <PyObject*>_empty_tuple
cdef object _uuid_type = UUID
cdef object _zero_uuid = UUID(int=0)
cdef PyTypeObject* UUID_TYPE = <PyTypeObject*>_uuid_type
cdef object _external_type = ExternalBytes
cdef PyTypeObject* EXTERNAL_TYPE = <PyTypeObject*>_external_type
cdef PyObject* ZERO_UUID = <PyObject*>_zero_uuid
cdef object _safety = UUID(int=0).is_safe
cdef Py_ssize_t UUID_INT = kw_slot_offset(<PyObject*>UUID.int)
cdef Py_ssize_t UUID_SAFE = kw_slot_offset(<PyObject*>UUID.is_safe)


cdef inline PyObject** at(PyObject* target, Py_ssize_t offset) noexcept:
    return <PyObject**>(<char*>target + offset)
