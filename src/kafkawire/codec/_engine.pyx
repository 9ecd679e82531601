# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The engine, compiled: runs the plans of `plan.py` with the results and errors of `engine.py`.

Rules:
- Plans are turned into C arrays once; structs are allocated by their type and written by slot offset.
- A function that fails returns NULL and leaves the error in its state; whoever called it adds its part of the path.
- Nothing is read or written before the bytes left, or the room left, are known to suffice.
- A value is held while Python code could run that might drop it.
- The collector rests while a message is read: what is being built is not garbage, and looking at it costs more than
  building it (a tenfold cost was measured in a process with many objects).
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from uuid import UUID

from kafkawire.codec.errors import CodecError, EncodeError, UnsupportedVersionError, fault
from kafkawire.codec.plan import UNKNOWN_TAGS
from kafkawire.codec.writer import shown

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
    PAST_END, LENGTH, COUNT, NULL_VALUE, NEGATIVE, TEXT, VARINT, TAG_VERSION, TAG_SIZE, TRAILING
cdef enum:
    STRING_LIMIT = 32767
    MOST_TAGS = 64
    FIRST_ROOM = 1024

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
cdef PyObject* ZERO_UUID = <PyObject*>_zero_uuid
cdef object _safety = UUID(int=0).is_safe
cdef Py_ssize_t UUID_INT = kw_slot_offset(<PyObject*>UUID.int)
cdef Py_ssize_t UUID_SAFE = kw_slot_offset(<PyObject*>UUID.is_safe)


cdef inline PyObject** at(PyObject* target, Py_ssize_t offset) noexcept:
    return <PyObject**>(<char*>target + offset)


# --- plans as C arrays ---------------------------------------------------------------------------------------------

cdef class NativeShape:
    """A shape as C arrays; keeps alive what they point to."""
    cdef CShape c
    cdef list kept

    def __cinit__(self):
        memset(&self.c, 0, sizeof(CShape))
        self.kept = []

    def __dealloc__(self):
        PyMem_Free(self.c.slots)


cdef class NativePlan:
    """A plan as C arrays; keeps alive what they point to."""
    cdef CPlan c
    cdef list kept

    def __cinit__(self):
        memset(&self.c, 0, sizeof(CPlan))
        self.kept = []

    def __dealloc__(self):
        PyMem_Free(self.c.steps)
        PyMem_Free(self.c.tagged)
        PyMem_Free(self.c.absent)


cdef void* room(Py_ssize_t count, size_t size) except NULL:
    cdef void* block = PyMem_Malloc(max(1, count) * size)
    if block == NULL:
        raise MemoryError()
    memset(block, 0, max(1, count) * size)
    return block


cdef Py_ssize_t offset_of(object cls, object name) except -1:
    cdef object descriptor = cls.__dict__[name]
    cdef Py_ssize_t offset = kw_slot_offset(<PyObject*>descriptor)
    if offset < 0:
        raise TypeError(f"{cls.__qualname__}.{name} is not a slot")
    return offset


cdef int fill_slot(CSlot* out, object slot, object cls, list kept) except -1:
    cdef NativeShape nested
    cdef object name = slot.attribute, default = slot.default
    kept += (name, default)
    out.offset = offset_of(cls, name)
    out.name = <PyObject*>name
    out.default_kind = slot.default_kind
    out.default = <PyObject*>default
    if slot.default_kind == DEFAULT_STRUCT:
        nested = native_shape(slot.shape)
        kept.append(nested)
        out.shape = &nested.c
    return 0


cdef NativeShape native_shape(object shape):
    if shape.native is not None:
        return shape.native
    cdef NativeShape made = NativeShape()
    cdef object cls = shape.cls, name = cls.__qualname__
    cdef int index = 0
    made.kept += (cls, name)
    made.c.type = <PyTypeObject*>cls
    made.c.name = <PyObject*>name
    made.c.unknown = offset_of(cls, UNKNOWN_TAGS)
    made.c.slots = <CSlot*>room(len(shape.slots), sizeof(CSlot))
    for slot in shape.slots:
        fill_slot(&made.c.slots[index], slot, cls, made.kept)
        index += 1
    made.c.count = index
    shape.native = made
    return made


cdef int fill_step(CStep* out, object step, object cls, list kept) except -1:
    cdef NativePlan nested
    fill_slot(&out.slot, step.slot, cls, kept)
    out.code = step.code
    out.is_array = step.is_array
    out.compact = step.compact
    out.nullable = step.nullable
    out.tag = step.tag
    out.element_minimum = step.element_minimum
    if step.plan is not None:
        nested = native_plan(step.plan)
        kept.append(nested)
        out.plan = &nested.c
    return 0


cdef NativePlan native_plan(object plan):
    if plan.native is not None:
        return plan.native
    cdef NativePlan made = NativePlan()
    cdef NativeShape shape = native_shape(plan.shape)
    cdef object cls = plan.shape.cls, foreign = plan.foreign_tags
    cdef int index
    if len(plan.tagged) > MOST_TAGS:
        raise ValueError(f"{plan.title}: more than {MOST_TAGS} tags in one struct")
    made.kept += (shape, foreign)
    made.c.shape = &shape.c
    made.c.flexible = plan.flexible
    made.c.foreign_tags = <PyObject*>foreign if foreign else NULL
    made.c.steps = <CStep*>room(len(plan.steps), sizeof(CStep))
    made.c.tagged = <CStep*>room(len(plan.tagged), sizeof(CStep))
    made.c.absent = <CAbsent*>room(len(plan.absent), sizeof(CAbsent))
    for index in range(len(plan.steps)):
        fill_step(&made.c.steps[index], plan.steps[index], cls, made.kept)
    made.c.step_count = len(plan.steps)
    for index in range(len(plan.tagged)):
        fill_step(&made.c.tagged[index], plan.tagged[index], cls, made.kept)
    made.c.tagged_count = len(plan.tagged)
    for index in range(len(plan.absent)):
        fill_slot(&made.c.absent[index].slot, plan.absent[index][0], cls, made.kept)
        made.c.absent[index].droppable = plan.absent[index][1]
    made.c.absent_count = len(plan.absent)
    plan.native = made
    return made


# --- defaults ------------------------------------------------------------------------------------------------------

cdef PyObject* build_default(CSlot* slot) noexcept:
    if slot.default_kind == VALUE:
        Py_INCREF(slot.default)
        return slot.default
    if slot.default_kind == LIST:
        return PyList_New(0)
    cdef PyObject* made = kw_alloc(slot.shape.type)
    cdef PyObject* value
    cdef int index
    if made == NULL:
        return NULL
    for index in range(slot.shape.count):
        value = build_default(&slot.shape.slots[index])
        if value == NULL:
            Py_DECREF(made)
            return NULL
        at(made, slot.shape.slots[index].offset)[0] = value
    Py_INCREF(NO_TAGS)
    at(made, slot.shape.unknown)[0] = NO_TAGS
    return made


cdef int is_default(CSlot* slot, PyObject* value) noexcept:
    """1, 0, or -1 with a Python error set."""
    cdef int index, same
    cdef PyObject* held
    if slot.default_kind == VALUE:
        if value == slot.default:
            return 1
        if value == NULL or value == Py_None or slot.default == Py_None:
            return 0
        Py_INCREF(value)
        same = PyObject_RichCompareBool(value, slot.default, Py_EQ)
        Py_DECREF(value)
        return same
    if value == NULL:
        return 0
    if slot.default_kind == LIST:
        if PyList_Check(value):
            return PyList_GET_SIZE(value) == 0
        return PyTuple_Check(value) and PyTuple_GET_SIZE(value) == 0
    if not PyObject_TypeCheck(value, slot.shape.type):
        return 0
    Py_INCREF(value)
    same = 1
    for index in range(slot.shape.count):
        same = is_default(&slot.shape.slots[index], at(value, slot.shape.slots[index].offset)[0])
        if same != 1:
            break
    if same == 1:
        held = at(value, slot.shape.unknown)[0]
        same = held == NO_TAGS or (held != NULL and PyObject_IsTrue(held) == 0)
    Py_DECREF(value)
    return same


# --- reading -------------------------------------------------------------------------------------------------------

cdef struct Reader:
    const unsigned char* start
    const unsigned char* position
    const unsigned char* end
    PyObject* source  # the object that the bytes belong to
    PyObject* view    # a one-dimensional memoryview of it, made when first needed
    PyObject* error


cdef PyObject* fail(Reader* r, int kind, const unsigned char* where, int64_t a, int64_t b) noexcept:
    cdef object error
    try:
        error = fault(kind, where - r.start, a, b)
    except BaseException as other:
        error = other
    Py_INCREF(<PyObject*>error)
    Py_XDECREF(r.error)
    r.error = <PyObject*>error
    return NULL


cdef void add_name(PyObject* error, PyObject* name) noexcept:
    if error != NULL and isinstance(<object>error, CodecError):
        (<object>error).within(<object>name)


cdef void add_index(PyObject* error, Py_ssize_t index) noexcept:
    if error != NULL and isinstance(<object>error, CodecError):
        (<object>error).within(index)


cdef inline bint short_of(Reader* r, Py_ssize_t size) noexcept:
    if r.end - r.position >= size:
        return False
    fail(r, PAST_END, r.position, size, r.end - r.position)
    return True


cdef inline bint read_uvarint(Reader* r, uint32_t* out) noexcept:
    cdef const unsigned char* p = r.position
    if p < r.end and p[0] < 0x80:
        out[0] = p[0]
        r.position = p + 1
        return True
    return read_long_uvarint(r, out)


cdef bint read_long_uvarint(Reader* r, uint32_t* out) noexcept:
    cdef const unsigned char* p = r.position
    cdef uint32_t value = 0
    cdef int index
    for index in range(5):
        if p + index >= r.end:
            fail(r, PAST_END, p, index + 1, index)
            return False
        value |= <uint32_t>(p[index] & 0x7F) << (7 * index)
        if p[index] < 0x80:
            out[0] = value
            r.position = p + index + 1
            return True
    fail(r, VARINT, p, 0, 0)
    return False


cdef PyObject* read_null(Reader* r, CStep* step, int64_t length, const unsigned char* where) noexcept:
    if length < -1:
        return fail(r, NEGATIVE, where, length, 0)
    if not step.nullable:
        return fail(r, NULL_VALUE, where, 0, 0)
    Py_INCREF(Py_None)
    return Py_None


cdef PyObject* read_sized(Reader* r, CStep* step) noexcept:
    """A string, bytes or records."""
    cdef const unsigned char* where = r.position
    cdef int64_t length
    cdef uint32_t compact
    if step.compact:
        if not read_uvarint(r, &compact):
            return NULL
        length = <int64_t>compact - 1
    elif step.code == STRING:
        if short_of(r, 2):
            return NULL
        length = <int16_t>kw_load16(r.position)
        r.position += 2
    else:
        if short_of(r, 4):
            return NULL
        length = <int32_t>kw_load32(r.position)
        r.position += 4
    if length < 0:
        return read_null(r, step, length, where)
    if step.code == STRING and length > STRING_LIMIT:
        return fail(r, TEXT, where, length, 0)
    if length > r.end - r.position:
        return fail(r, LENGTH, where, length, r.end - r.position)
    cdef const unsigned char* start = r.position
    r.position += length
    if step.code == STRING:
        return PyUnicode_DecodeUTF8(<const char*>start, length, "replace")
    if r.view == NULL:
        try:
            view = flat_view(<object>r.source)
        except BaseException as error:
            Py_INCREF(<PyObject*>error)
            r.error = <PyObject*>error
            return NULL
        Py_INCREF(<PyObject*>view)
        r.view = <PyObject*>view
    return kw_subview(r.view, start, length)


cdef PyObject* read_uuid(Reader* r) noexcept:
    cdef const unsigned char* p = r.position
    cdef PyObject* made
    cdef PyObject* number
    if short_of(r, 16):
        return NULL
    r.position += 16
    if kw_load64(p) == 0 and kw_load64(p + 8) == 0:
        Py_INCREF(ZERO_UUID)
        return ZERO_UUID
    number = kw_uint128(p)
    if number == NULL:
        return NULL
    made = kw_alloc(UUID_TYPE)
    if made == NULL:
        Py_DECREF(number)
        return NULL
    at(made, UUID_INT)[0] = number
    Py_INCREF(<PyObject*>_safety)
    at(made, UUID_SAFE)[0] = <PyObject*>_safety
    return made


cdef PyObject* read_element(Reader* r, CStep* step) noexcept:
    cdef const unsigned char* p = r.position
    cdef int code = step.code
    if code == INT32:
        if short_of(r, 4):
            return NULL
        r.position = p + 4
        return PyLong_FromLong(<int32_t>kw_load32(p))
    elif code == STRUCT:
        return read_struct(r, step.plan)
    elif code == STRING or code == BYTES or code == RECORDS:
        return read_sized(r, step)
    elif code == INT16:
        if short_of(r, 2):
            return NULL
        r.position = p + 2
        return PyLong_FromLong(<int16_t>kw_load16(p))
    elif code == INT64:
        if short_of(r, 8):
            return NULL
        r.position = p + 8
        return PyLong_FromLongLong(<int64_t>kw_load64(p))
    elif code == BOOL:
        if short_of(r, 1):
            return NULL
        r.position = p + 1
        if p[0]:
            Py_INCREF(Py_True)
            return Py_True
        Py_INCREF(Py_False)
        return Py_False
    elif code == INT8:
        if short_of(r, 1):
            return NULL
        r.position = p + 1
        return PyLong_FromLong(<int8_t>p[0])
    elif code == UUID_:
        return read_uuid(r)
    elif code == UINT16:
        if short_of(r, 2):
            return NULL
        r.position = p + 2
        return PyLong_FromLong(kw_load16(p))
    elif code == UINT32:
        if short_of(r, 4):
            return NULL
        r.position = p + 4
        return PyLong_FromUnsignedLong(kw_load32(p))
    else:
        if short_of(r, 8):
            return NULL
        r.position = p + 8
        return PyFloat_FromDouble(kw_double(kw_load64(p)))


cdef PyObject* read_array(Reader* r, CStep* step) noexcept:
    cdef const unsigned char* where = r.position
    cdef int64_t count, left
    cdef uint32_t compact
    cdef Py_ssize_t index
    cdef PyObject* made
    cdef PyObject* value
    if step.compact:
        if not read_uvarint(r, &compact):
            return NULL
        count = <int64_t>compact - 1
    else:
        if short_of(r, 4):
            return NULL
        count = <int32_t>kw_load32(r.position)
        r.position += 4
    if count < 0:
        return read_null(r, step, count, where)
    left = r.end - r.position
    if count * step.element_minimum > left:
        return fail(r, COUNT, where, count, left // step.element_minimum)
    made = PyList_New(count)
    if made == NULL:
        return NULL
    for index in range(count):
        value = read_element(r, step)
        if value == NULL:
            add_index(r.error, index)
            Py_DECREF(made)
            return NULL
        PyList_SET_ITEM(made, index, value)
    return made


cdef PyObject* read_value(Reader* r, CStep* step) noexcept:
    cdef const unsigned char* where = r.position
    cdef uint32_t marker
    if step.is_array:
        return read_array(r, step)
    if step.nullable and step.code == STRUCT:
        if step.tag >= 0:
            if not read_uvarint(r, &marker):
                return NULL
            if marker == 0:
                return read_null(r, step, -1, where)
        else:
            if short_of(r, 1):
                return NULL
            r.position += 1
            if <int8_t>where[0] < 0:
                return read_null(r, step, -1, where)
    return read_element(r, step)


cdef bint read_tags(Reader* r, CPlan* plan, PyObject* made) noexcept:
    cdef const unsigned char* where = r.position
    cdef const unsigned char* outer
    cdef uint32_t count, tag, size
    cdef int index
    cdef PyObject* value
    cdef PyObject** place
    cdef CStep* step
    cdef list unknown = None
    if not read_uvarint(r, &count):
        return False
    if <int64_t>count * 2 > r.end - r.position:
        fail(r, COUNT, where, count, (r.end - r.position) // 2)
        return False
    while count:
        count -= 1
        where = r.position
        if not read_uvarint(r, &tag):
            return False
        if plan.foreign_tags != NULL and tag in <object>plan.foreign_tags:
            fail(r, TAG_VERSION, where, tag, 0)
            return False
        where = r.position
        if not read_uvarint(r, &size):
            return False
        if size > r.end - r.position:
            fail(r, LENGTH, where, size, r.end - r.position)
            return False
        step = NULL
        for index in range(plan.tagged_count):
            if plan.tagged[index].tag == tag:
                step = &plan.tagged[index]
                break
        if step == NULL:
            if unknown is None:
                unknown = []
            unknown.append((tag, r.position[:size]))
            r.position += size
            continue
        where = r.position
        outer = r.end
        r.end = where + size
        value = read_value(r, step)
        if value != NULL and r.position != r.end:
            fail(r, TAG_SIZE, where, size, r.position - where)
            Py_DECREF(value)
            value = NULL
        if value == NULL:
            add_name(r.error, step.slot.name)
            return False
        r.end = outer
        place = at(made, step.slot.offset)
        Py_XDECREF(place[0])
        place[0] = value
    for index in range(plan.tagged_count):
        place = at(made, plan.tagged[index].slot.offset)
        if place[0] == NULL:
            place[0] = build_default(&plan.tagged[index].slot)
            if place[0] == NULL:
                return False
    if unknown is not None:
        tags = tuple(unknown)
        Py_INCREF(<PyObject*>tags)
        at(made, plan.shape.unknown)[0] = <PyObject*>tags
    else:
        Py_INCREF(NO_TAGS)
        at(made, plan.shape.unknown)[0] = NO_TAGS
    return True


cdef PyObject* read_struct(Reader* r, CPlan* plan) noexcept:
    cdef PyObject* made = kw_alloc(plan.shape.type)
    cdef PyObject* value
    cdef int index
    if made == NULL:
        return NULL
    for index in range(plan.step_count):
        value = read_value(r, &plan.steps[index])
        if value == NULL:
            add_name(r.error, plan.steps[index].slot.name)
            Py_DECREF(made)
            return NULL
        at(made, plan.steps[index].slot.offset)[0] = value
    for index in range(plan.absent_count):
        value = build_default(&plan.absent[index].slot)
        if value == NULL:
            Py_DECREF(made)
            return NULL
        at(made, plan.absent[index].slot.offset)[0] = value
    if plan.flexible:
        if plan.tagged_count == 0 and r.position < r.end and r.position[0] == 0:
            r.position += 1
        elif not read_tags(r, plan, made):
            Py_DECREF(made)
            return NULL
        else:
            return made
    Py_INCREF(NO_TAGS)
    at(made, plan.shape.unknown)[0] = NO_TAGS
    return made


cdef object flat_view(object source):
    cdef object view = memoryview(source)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


cdef object read_whole(object plan, object buffer, Py_ssize_t offset, bint allow_trailing, Py_ssize_t* end):
    cdef NativePlan native = native_plan(plan)
    cdef Reader r
    cdef Py_buffer raw
    cdef PyObject* made
    cdef object result
    cdef int collecting
    PyObject_GetBuffer(buffer, &raw, PyBUF_SIMPLE)
    try:
        if offset < 0 or offset > raw.len:
            raise ValueError(f"offset {offset} lies outside the buffer of {raw.len} bytes")
        r.start = <const unsigned char*>raw.buf
        r.position = r.start + offset
        r.end = r.start + raw.len
        r.source = <PyObject*>buffer
        r.view = NULL
        r.error = NULL
        collecting = PyGC_Disable()
        made = read_struct(&r, &native.c)
        if collecting:
            PyGC_Enable()
        if made != NULL and r.position < r.end and not allow_trailing:
            Py_DECREF(made)
            made = fail(&r, TRAILING, r.position, r.end - r.position, 0)
        end[0] = r.position - r.start
        Py_XDECREF(r.view)
    finally:
        PyBuffer_Release(&raw)
    if made == NULL:
        raise_error(r.error, plan)
    result = <object>made
    Py_DECREF(made)
    return result


cdef int raise_error(PyObject* held, object plan) except -1:
    """Raise the error of a state, or the Python error that is set already."""
    if held == NULL:
        if PyErr_Occurred() != NULL:
            return -1
        raise SystemError("the engine failed without an error")
    cdef object error = <object>held
    Py_DECREF(held)
    if PyErr_Occurred() != NULL:
        PyErr_Clear()
    if isinstance(error, CodecError):
        error.title = plan.title
    raise error


def decode(plan, buffer, Py_ssize_t offset=0, bint allow_trailing=False):
    """The value at `offset`; bytes behind it are an error unless allowed."""
    cdef Py_ssize_t end
    return read_whole(plan, buffer, offset, allow_trailing, &end)


def decode_prefix(plan, buffer, Py_ssize_t offset=0):
    """The value at `offset`, and the offset behind it."""
    cdef Py_ssize_t end = 0
    cdef object value = read_whole(plan, buffer, offset, True, &end)
    return value, end


# --- writing -------------------------------------------------------------------------------------------------------

cdef struct Writer:
    unsigned char* data
    Py_ssize_t size
    Py_ssize_t room
    unsigned char* first  # on the caller's stack; not to be freed
    PyObject* parts       # a list, or NULL where everything is joined
    int tag_depth
    PyObject* error


cdef bint refuse(Writer* w, object kind, object expected, object found) noexcept:
    cdef object error
    try:
        error = kind(expected, found)
    except BaseException as other:
        error = other
    PyErr_Clear()
    Py_INCREF(<PyObject*>error)
    Py_XDECREF(w.error)
    w.error = <PyObject*>error
    return False


cdef bint refuse_value(Writer* w, object expected, PyObject* value) noexcept:
    return refuse(w, EncodeError, expected, safe_repr(value))


cdef object safe_repr(PyObject* value):
    PyErr_Clear()
    if value == NULL:
        return "none set"
    try:
        return shown(<object>value)
    except BaseException as other:
        return f"a value whose repr fails ({type(other).__name__})"


cdef bint grow(Writer* w, Py_ssize_t size) noexcept:
    cdef Py_ssize_t wanted = max(w.room * 2, w.size + size)
    cdef unsigned char* block
    if w.data == w.first:
        block = <unsigned char*>PyMem_Malloc(wanted)
        if block != NULL:
            memcpy(block, w.data, w.size)
    else:
        block = <unsigned char*>PyMem_Realloc(w.data, wanted)
    if block == NULL:
        return refuse(w, MemoryError, "room", str(wanted))
    w.data = block
    w.room = wanted
    return True


cdef inline bint ensure(Writer* w, Py_ssize_t size) noexcept:
    return w.room - w.size >= size or grow(w, size)


cdef inline bint write_byte(Writer* w, unsigned char value) noexcept:
    if not ensure(w, 1):
        return False
    w.data[w.size] = value
    w.size += 1
    return True


cdef bint write_uvarint(Writer* w, uint32_t value) noexcept:
    if not ensure(w, 5):
        return False
    while value > 0x7F:
        w.data[w.size] = <unsigned char>(value & 0x7F | 0x80)
        w.size += 1
        value >>= 7
    w.data[w.size] = <unsigned char>value
    w.size += 1
    return True


cdef inline bint write_integer(Writer* w, int code, PyObject* value) noexcept:
    cdef int overflow = 0
    cdef int64_t number
    if value == NULL:
        return refuse_value(w, "a value", value)
    if not PyLong_Check(value) and not PyIndex_Check(value):
        return refuse_value(w, integer_name(code), value)
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or (number == -1 and PyErr_Occurred() != NULL) or not ensure(w, 8):
        return refuse_value(w, integer_name(code), value)
    cdef unsigned char* out = w.data + w.size
    if code == INT32:
        if number != <int32_t>number:
            return refuse_value(w, "int32", value)
        kw_store32(out, <uint32_t>number)
        w.size += 4
    elif code == INT64:
        kw_store64(out, <uint64_t>number)
        w.size += 8
    elif code == INT16:
        if number != <int16_t>number:
            return refuse_value(w, "int16", value)
        kw_store16(out, <uint16_t>number)
        w.size += 2
    elif code == INT8:
        if number != <int8_t>number:
            return refuse_value(w, "int8", value)
        out[0] = <unsigned char>number
        w.size += 1
    elif code == UINT16:
        if number != <uint16_t>number:
            return refuse_value(w, "uint16", value)
        kw_store16(out, <uint16_t>number)
        w.size += 2
    else:
        if number != <uint32_t>number:
            return refuse_value(w, "uint32", value)
        kw_store32(out, <uint32_t>number)
        w.size += 4
    return True


cdef object integer_name(int code):
    return ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64")[code]


cdef bint write_length(Writer* w, CStep* step, int64_t length) noexcept:
    """The length of a string, bytes, records or array; -1 is null."""
    if step.compact:
        return write_uvarint(w, <uint32_t>(length + 1))
    if not ensure(w, 4):
        return False
    if step.code == STRING and not step.is_array:
        kw_store16(w.data + w.size, <uint16_t>length)
        w.size += 2
    else:
        kw_store32(w.data + w.size, <uint32_t>length)
        w.size += 4
    return True


cdef bint write_string(Writer* w, CStep* step, PyObject* value) noexcept:
    cdef Py_ssize_t length = 0
    cdef const char* text
    if not PyUnicode_Check(value):
        return refuse_value(w, "string", value)
    text = PyUnicode_AsUTF8AndSize(value, &length)
    if text == NULL:
        return refuse_value(w, "a string that UTF-8 can hold", value)
    if length > STRING_LIMIT:
        return refuse(w, EncodeError, "a string of at most 32767 bytes", f"{length} bytes")
    if not ensure(w, length + 5):
        return False
    if step.compact:
        write_uvarint(w, <uint32_t>(length + 1))
    else:
        kw_store16(w.data + w.size, <uint16_t>length)
        w.size += 2
    memcpy(w.data + w.size, text, length)
    w.size += length
    return True


cdef bint write_bytes(Writer* w, CStep* step, PyObject* value) noexcept:
    cdef Py_buffer raw
    cdef bint fine
    if PyBytes_CheckExact(value):
        return write_payload(w, step, value, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    try:
        PyObject_GetBuffer(<object>value, &raw, PyBUF_SIMPLE)
    except BaseException:
        return refuse_value(w, "bytes", value)
    fine = write_payload(w, step, value, <char*>raw.buf, raw.len)
    PyBuffer_Release(&raw)
    return fine


cdef bint write_payload(Writer* w, CStep* step, PyObject* value, const char* data, Py_ssize_t length) noexcept:
    if length > 0x7FFFFFFE:
        return refuse(w, EncodeError, "at most 2147483646 bytes", f"{length} bytes")
    if step.compact:
        if not write_uvarint(w, <uint32_t>(length + 1)):
            return False
    else:
        if not ensure(w, 4):
            return False
        kw_store32(w.data + w.size, <uint32_t>length)
        w.size += 4
    if step.code == RECORDS and w.parts != NULL and w.tag_depth == 0 and length:
        try:
            (<list>w.parts).append(w.data[:w.size])
            (<list>w.parts).append(flat_view(<object>value))
        except BaseException as error:
            return refuse_error(w, error)
        w.size = 0
        return True
    if not ensure(w, length):
        return False
    memcpy(w.data + w.size, data, length)
    w.size += length
    return True


cdef bint refuse_error(Writer* w, object error) noexcept:
    Py_INCREF(<PyObject*>error)
    Py_XDECREF(w.error)
    w.error = <PyObject*>error
    return False


cdef bint write_uuid(Writer* w, PyObject* value) noexcept:
    cdef PyObject* number
    if not PyObject_TypeCheck(value, UUID_TYPE):
        return refuse_value(w, "uuid.UUID", value)
    if not ensure(w, 16):
        return False
    if value == ZERO_UUID:
        memset(w.data + w.size, 0, 16)
    else:
        number = at(value, UUID_INT)[0]
        if number == NULL or not PyLong_Check(number) or kw_store_uint128(number, w.data + w.size) < 0:
            return refuse_value(w, "uuid.UUID", value)
    w.size += 16
    return True


cdef bint write_element(Writer* w, CStep* step, PyObject* value, bint nullable) noexcept:
    cdef int code = step.code
    cdef double number
    if INT8 <= code <= INT64:
        return write_integer(w, code, value)
    if value == NULL:
        return refuse_value(w, "a value", value)
    if code == STRUCT:
        return write_struct(w, step.plan, value)
    if code == STRING or code == BYTES or code == RECORDS:
        if value == Py_None:
            if not nullable:
                return refuse_value(w, "string" if code == STRING else "bytes" if code == BYTES else "records", value)
            return write_length(w, step, -1)
        return write_string(w, step, value) if code == STRING else write_bytes(w, step, value)
    if code == BOOL:
        if not PyLong_Check(value):
            return refuse_value(w, "bool", value)
        return write_byte(w, 1 if PyObject_IsTrue(value) else 0)
    if code == UUID_:
        return write_uuid(w, value)
    number = PyFloat_AsDouble(value)
    if number == -1.0 and PyErr_Occurred() != NULL:
        return refuse_value(w, "float64", value)
    if not ensure(w, 8):
        return False
    kw_store64(w.data + w.size, kw_bits(number))
    w.size += 8
    return True


cdef bint write_array(Writer* w, CStep* step, PyObject* value) noexcept:
    cdef Py_ssize_t count, index = 0
    cdef bint is_list, fine = True
    cdef PyObject* item
    if value == Py_None:
        return write_length(w, step, -1) if step.nullable else refuse_value(w, "array", value)
    is_list = value != NULL and PyList_Check(value)
    if not is_list and (value == NULL or not PyTuple_Check(value)):
        return refuse_value(w, "a list", value)
    count = PyList_GET_SIZE(value) if is_list else PyTuple_GET_SIZE(value)
    if not write_length(w, step, count):
        return False
    Py_INCREF(value)
    while index < count:
        if is_list and index >= PyList_GET_SIZE(value):
            fine = refuse(w, EncodeError, "a list that nobody changes meanwhile", "one that shrank")
            break
        item = PyList_GET_ITEM(value, index) if is_list else PyTuple_GET_ITEM(value, index)
        Py_INCREF(item)
        fine = write_element(w, step, item, False)
        Py_DECREF(item)
        if not fine:
            add_index(w.error, index)
            break
        index += 1
    Py_DECREF(value)
    return fine


cdef bint write_value(Writer* w, CStep* step, PyObject* value) noexcept:
    cdef bint fine = True
    if step.is_array:
        fine = write_array(w, step, value)
    else:
        if step.nullable and step.code == STRUCT:
            if value == Py_None:
                fine = write_byte(w, 0 if step.tag >= 0 else 0xFF)
            else:
                fine = write_byte(w, 1) and write_element(w, step, value, True)
        else:
            fine = write_element(w, step, value, step.nullable)
    if not fine:
        add_name(w.error, step.slot.name)
    return fine


cdef bint write_tag(Writer* w, CStep* step, PyObject* value) noexcept:
    """Tag, size, payload; the size is known last, so one byte is kept for it and more room made where it is longer."""
    cdef Py_ssize_t start
    cdef uint32_t size, rest
    cdef int extra = 0
    if not write_uvarint(w, <uint32_t>step.tag) or not write_byte(w, 0):
        return False
    start = w.size
    w.tag_depth += 1
    Py_INCREF(value)
    cdef bint fine = write_value(w, step, value)
    Py_DECREF(value)
    w.tag_depth -= 1
    if not fine:
        return False
    size = <uint32_t>(w.size - start)
    rest = size >> 7
    while rest:
        extra += 1
        rest >>= 7
    if extra:
        if not ensure(w, extra):
            return False
        memmove(w.data + start + extra, w.data + start, size)
    w.size = start - 1
    write_uvarint(w, size)
    w.size += size
    return True


cdef bint write_unknown(Writer* w, CPlan* plan, object entry, int64_t previous, int64_t* tag) noexcept:
    cdef object payload
    cdef int index
    cdef Py_ssize_t size
    cdef bint known = False
    try:
        number, payload = entry
        payload = bytes(payload)
        tag[0] = number
        size = len(payload)
        known = plan.foreign_tags != NULL and number in <object>plan.foreign_tags
    except BaseException:
        return refuse_value(w, "pairs of tag and bytes", <PyObject*>entry)
    for index in range(plan.tagged_count):
        known = known or plan.tagged[index].tag == tag[0]
    if tag[0] <= previous or tag[0] > 0xFFFFFFFF or known:
        return refuse(w, EncodeError, "unknown tags, ascending and each once", f"tag {tag[0]}")
    if not write_uvarint(w, <uint32_t>tag[0]) or not write_uvarint(w, <uint32_t>size) or not ensure(w, size):
        return False
    memcpy(w.data + w.size, <const char*>payload, size)
    w.size += size
    return True


cdef bint write_tags(Writer* w, CPlan* plan, PyObject* value, PyObject* unknown) noexcept:
    cdef bint wanted[MOST_TAGS]
    cdef int index, same, count = 0
    cdef CStep* step
    for index in range(plan.tagged_count):
        step = &plan.tagged[index]
        same = is_default(&step.slot, at(value, step.slot.offset)[0])
        if same < 0:
            refuse_value(w, "a value that can be compared with its default", at(value, step.slot.offset)[0])
            add_name(w.error, step.slot.name)
            return False
        wanted[index] = same == 0
        count += same == 0
    if unknown != NO_TAGS:
        return write_mixed_tags(w, plan, value, unknown, wanted, count)
    if not write_uvarint(w, count):
        return False
    for index in range(plan.tagged_count):
        if wanted[index] and not write_tag(w, &plan.tagged[index], at(value, plan.tagged[index].slot.offset)[0]):
            return False
    return True


cdef bint write_mixed_tags(
    Writer* w, CPlan* plan, PyObject* value, PyObject* unknown, bint* wanted, int count
) noexcept:
    cdef int64_t previous = -1, tag = -1
    cdef int index = 0
    cdef object entries
    try:
        entries = list(<object>unknown) if unknown != NULL else []
        first_tags = [entry[0] for entry in entries]
    except BaseException:
        refuse_value(w, "pairs of tag and bytes", unknown)
        add_name(w.error, <PyObject*>UNKNOWN_TAGS)
        return False
    if not write_uvarint(w, count + <int>len(entries)):
        return False
    for entry, first in zip(entries, first_tags):
        while index < plan.tagged_count and plan.tagged[index].tag < first:
            if wanted[index] and not write_tag(w, &plan.tagged[index], at(value, plan.tagged[index].slot.offset)[0]):
                return False
            index += 1
        if not write_unknown(w, plan, entry, previous, &tag):
            add_name(w.error, <PyObject*>UNKNOWN_TAGS)
            return False
        previous = tag
    while index < plan.tagged_count:
        if wanted[index] and not write_tag(w, &plan.tagged[index], at(value, plan.tagged[index].slot.offset)[0]):
            return False
        index += 1
    return True


cdef bint write_struct(Writer* w, CPlan* plan, PyObject* value) noexcept:
    cdef int index, same
    cdef PyObject* held
    cdef PyObject* unknown
    if not PyObject_TypeCheck(value, plan.shape.type):
        return refuse_value(w, <object>plan.shape.name, value)
    for index in range(plan.step_count):
        if not write_value(w, &plan.steps[index], at(value, plan.steps[index].slot.offset)[0]):
            return False
    for index in range(plan.absent_count):
        if plan.absent[index].droppable:
            continue
        held = at(value, plan.absent[index].slot.offset)[0]
        same = is_default(&plan.absent[index].slot, held)
        if same != 1:
            if held == NULL:
                refuse_value(w, "a value", held)
            else:
                refuse(w, UnsupportedVersionError, "the default, as this version lacks the field", safe_repr(held))
            add_name(w.error, plan.absent[index].slot.name)
            return False
    unknown = at(value, plan.shape.unknown)[0]
    if plan.flexible:
        return write_tags(w, plan, value, unknown)
    if unknown != NO_TAGS and unknown != NULL and PyObject_IsTrue(unknown) != 0:
        refuse(w, UnsupportedVersionError, "none, as this version has no tags", safe_repr(unknown))
        add_name(w.error, <PyObject*>UNKNOWN_TAGS)
        return False
    return True


cdef object write_whole(object plan, object value, list parts):
    cdef NativePlan native = native_plan(plan)
    cdef unsigned char first[FIRST_ROOM]
    cdef Writer w
    cdef object result = None
    w.data = first
    w.first = first
    w.size = 0
    w.room = FIRST_ROOM
    w.parts = <PyObject*>parts if parts is not None else NULL
    w.tag_depth = 0
    w.error = NULL
    cdef bint fine = write_struct(&w, &native.c, <PyObject*>value)
    try:
        if fine:
            result = w.data[:w.size]
    finally:
        if w.data != first:
            PyMem_Free(w.data)
    if not fine:
        raise_error(w.error, plan)
    return result


def encode(plan, value):
    """The bytes of a value."""
    return write_whole(plan, value, None)


def encode_parts(plan, value):
    """The bytes of a value in pieces, its records neither copied nor joined."""
    cdef list parts = []
    cdef bytes rest = write_whole(plan, value, parts)
    if rest or not parts:
        parts.append(rest)
    return parts


def _check_numbers():
    from kafkawire.codec import errors, plan

    ours = (BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID_, STRING, BYTES, RECORDS, STRUCT)
    assert ours == tuple(plan.CODES.values()), "operation codes differ from plan.py: build the extension anew"
    assert (VALUE, LIST, DEFAULT_STRUCT) == (plan.VALUE, plan.LIST, plan.DEFAULT_STRUCT)
    faults = (PAST_END, LENGTH, COUNT, NULL_VALUE, NEGATIVE, TEXT, VARINT, TAG_VERSION, TAG_SIZE, TRAILING)
    names = "PAST_END LENGTH COUNT NULL NEGATIVE TEXT VARINT TAG_VERSION TAG_SIZE TRAILING"
    assert faults == tuple(getattr(errors, name) for name in names.split())
    if UUID_INT < 0 or UUID_SAFE < 0:
        raise ImportError("uuid.UUID of this Python has no slots; use KAFKAWIRE_IMPL=python")


_check_numbers()
