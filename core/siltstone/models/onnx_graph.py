"""Writes a computation graph in the ONNX format, so that running one needs ``onnxruntime`` alone.

ONNX is protocol buffers, and a graph uses few of its messages; their field numbers are those of ``onnx.proto``
(https://github.com/onnx/onnx/blob/main/onnx/onnx.proto). Encoding: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

_TYPES: Final = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}  # TensorProto.DataType
_IR_VERSION: Final = 8
_OPSET: Final = 17
_MICROSOFT: Final = "com.microsoft"

Attribute: TypeAlias = "int | float | Sequence[int]"


class Graph:
    """A graph under construction: constants and nodes are added in order, each under the name of its output."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        """Add a tensor and return its name."""
        tensor = b"".join(_number(1, size) for size in values.shape)
        tensor += _number(2, _TYPES[values.dtype.name]) + _bytes(8, name.encode())
        self._constants.append(tensor + _bytes(9, np.ascontiguousarray(values).tobytes()))
        return name

    def node(
        self, operator: str, inputs: Iterable[str], output: str, *, also: Iterable[str] = (), **attributes: Attribute
    ) -> str:
        """Add an operator and return the name of its output; ``also`` names further outputs.

        An operator written ``ms.Name`` is one of onnxruntime's own.
        """
        own = operator.startswith("ms.")
        node = b"".join(_bytes(1, name.encode()) for name in inputs)
        node += b"".join(_bytes(2, name.encode()) for name in (output, *also))
        node += _bytes(4, operator.removeprefix("ms.").encode())
        node += b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
        self._nodes.append(node + (_bytes(7, _MICROSOFT.encode()) if own else b""))
        return output

    def model(self, inputs: Iterable[bytes], outputs: Iterable[bytes]) -> bytes:
        """Return the finished model; inputs and outputs are made by ``tensor``."""
        graph = b"".join(_bytes(1, node) for node in self._nodes) + _bytes(2, b"graph")
        graph += b"".join(_bytes(5, constant) for constant in self._constants)
        graph += b"".join(_bytes(11, value) for value in inputs) + b"".join(_bytes(12, value) for value in outputs)
        opsets = _bytes(8, _number(2, _OPSET)) + _bytes(8, _bytes(1, _MICROSOFT.encode()) + _number(2, 1))
        return _number(1, _IR_VERSION) + _bytes(7, graph) + opsets


def tensor(name: str, shape: Sequence[int | str], dtype: str = "float32") -> bytes:
    """Describe an input or output; a size given as a string is free."""
    sizes = (_number(1, size) if isinstance(size, int) else _bytes(2, size.encode()) for size in shape)
    dimensions = b"".join(_bytes(1, size) for size in sizes)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, _number(1, _TYPES[dtype]) + _bytes(2, dimensions)))


def _attribute(name: str, value: Attribute) -> bytes:
    head = _bytes(1, name.encode())
    if isinstance(value, float):
        return head + _key(2, 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return head + _number(3, value) + _number(20, 2)
    return head + b"".join(_number(8, item) for item in value) + _number(20, 7)


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are two's complement
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
