# Values to bytes: the rules of writer.py. A function that fails returns False with the error in its Writer.

cdef struct Writer:
    unsigned char* data
    Py_ssize_t size
    Py_ssize_t room
    unsigned char* first  # on the caller's stack; not to be freed
    PyObject* parts       # a list, or NULL if everything is joined
    int tag_depth
    int unshared  # elements since other threads could run
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
    if step.code == RECORDS and PyObject_TypeCheck(value, EXTERNAL_TYPE):
        return write_external(w, step, value)
    try:
        PyObject_GetBuffer(<object>value, &raw, PyBUF_SIMPLE)
    except BaseException:
        return refuse_value(w, "bytes", value)
    fine = write_payload(w, step, value, <char*>raw.buf, raw.len)
    PyBuffer_Release(&raw)
    return fine


cdef bint write_external(Writer* w, CStep* step, PyObject* value) noexcept:
    """Records that are not in memory: a part of their own, or read where everything is joined."""
    cdef object source = <object>value
    cdef object content
    cdef Py_ssize_t length
    try:
        length = len(source)
        if w.parts == NULL or w.tag_depth != 0 or length == 0:
            content = source.read()
            return write_bytes(w, step, <PyObject*>content)
        if length > 0x7FFFFFFE:
            return refuse(w, EncodeError, "at most 2147483646 bytes", f"{length} bytes")
        if not write_length(w, step, length):
            return False
        (<list>w.parts).append(w.data[:w.size])
        (<list>w.parts).append(source)
    except BaseException as error:
        return refuse_error(w, error)
    w.size = 0
    return True


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
        w.unshared += 1
        if w.unshared >= SHARED_EVERY:
            w.unshared = 0
            with nogil:
                pass
            if is_list and index >= PyList_GET_SIZE(value):
                continue
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
