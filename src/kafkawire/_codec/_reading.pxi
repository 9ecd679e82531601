# Bytes to values: the rules of reader.py. A function that fails returns NULL (or False) with the error in its Reader.

cdef struct Reader:
    const unsigned char* start
    const unsigned char* position
    const unsigned char* end
    PyObject* source  # the object that the bytes belong to
    PyObject* view    # a one-dimensional memoryview of it, made when first needed
    PyObject* error
    int64_t elements  # read so far, of all arrays
    int64_t limit     # the most of them
    int64_t shared    # how many there were when other threads could run last


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


cdef inline bint too_many(Reader* r, const unsigned char* where, int64_t count) noexcept:
    r.elements += count
    if r.elements > r.limit:
        fail(r, ELEMENTS, where, r.elements, r.limit)
        return True
    if r.elements - r.shared >= SHARED_EVERY:
        r.shared = r.elements
        with nogil:
            pass
    return False


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
    if too_many(r, where, count):
        return NULL
    made = PyList_New(count)
    if made == NULL:
        return NULL
    for index in range(count):
        if index % SHARED_EVERY == SHARED_EVERY - 1:
            with nogil:
                pass
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
    if too_many(r, where, count):
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
