# Plans and shapes as C arrays, built once from those of plan.py, and the defaults of their slots.

cdef class NativeShape:
    """A shape as C arrays; it keeps the objects that they point to alive."""
    cdef CShape c
    cdef list kept

    def __cinit__(self):
        memset(&self.c, 0, sizeof(CShape))
        self.kept = []

    def __dealloc__(self):
        PyMem_Free(self.c.slots)


cdef class NativePlan:
    """A plan as C arrays; it keeps the objects that they point to alive."""
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
