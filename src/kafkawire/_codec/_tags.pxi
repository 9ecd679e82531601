# The tag section of a struct: the fields that differ from their default, ascending, unknown tags among them.

cdef bint write_tag(Writer* w, CStep* step, PyObject* value) noexcept:
    """Tag, size, payload; the size is known last, so one byte is reserved for it, and more if it is longer."""
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
