"""Random messages of any type, each field over its whole range, made and serialised by ROS itself."""

import random
import struct

from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    AbstractWString,
    Array,
    BasicType,
    BoundedSequence,
    NamespacedType,
)

LIST_MAX = 4
INTEGERS = {'char': 'B', 'int8': 'b', 'uint8': 'B', 'int16': 'h', 'uint16': 'H', 'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q'}
FLOATS = {'float': '<f', 'double': '<d'}
CHARACTERS = [(0x20, 0x7E), (0xA0, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFDFF), (0x10000, 0x10FFFF)]


def random_message(message_type, source):
    message = message_type()
    for name, slot in zip(message.get_fields_and_field_types(), message.SLOT_TYPES):
        setattr(message, name, random_value(slot, source))
    return message


def random_value(slot, source):
    if isinstance(slot, AbstractNestedType):
        return [random_value(slot.value_type, source) for _ in range(random_length(slot, source))]
    if isinstance(slot, NamespacedType):
        return random_message(message_class(slot), source)
    if isinstance(slot, (AbstractString, AbstractWString)):
        bound = slot.maximum_size if slot.has_maximum_size() else 48
        return ''.join(random_character(source) for _ in range(source.randint(0, bound // 4)))
    if slot.typename == 'boolean':
        return source.random() < 0.5
    if slot.typename == 'octet':
        return bytes([source.randrange(256)])
    if slot.typename in FLOATS:
        form = FLOATS[slot.typename]
        special = [0.0, -0.0, float('nan'), float('inf'), float('-inf')]
        bits = source.randbytes(struct.calcsize(form))
        return source.choice(special) if source.random() < 0.2 else struct.unpack(form, bits)[0]
    bits = 8 * struct.calcsize('<' + INTEGERS[slot.typename])
    least = -(2 ** (bits - 1)) if INTEGERS[slot.typename].islower() else 0
    edges = [least, least + 2**bits - 1, 0, 1, 2**53 - 1, 2**53, 2**53 + 1]
    value = source.choice(edges) if source.random() < 0.3 else least + source.getrandbits(bits)
    return value if least <= value < least + 2**bits else least


def random_length(slot, source):
    if isinstance(slot, Array):
        return slot.size
    if isinstance(slot, BoundedSequence):
        return source.choice([0, source.randint(0, slot.maximum_size), slot.maximum_size])
    return source.randint(0, LIST_MAX)


def random_character(source):
    return chr(source.randint(*source.choice(CHARACTERS)))


def message_class(slot):
    package = __import__('.'.join(slot.namespaces), fromlist=[slot.name])
    return getattr(package, slot.name)


def random_messages(message_type, seed, count):
    source = random.Random(seed)
    return [random_message(message_type, source) for _ in range(count)]
