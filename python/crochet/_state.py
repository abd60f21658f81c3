# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""What a Python value consists of in a checkpoint.

Arrays and numbers are values of their own, under the path of their keys: "model/layers.0.weight",
"optimizer/param_groups/0/lr". How to put them together again is a text in JSON, "<name>/%python".
A value that is just an array or a number has no such text.

    node = "a" (an array of NumPy) | "t" (a tensor of torch) | "i" | "f" | "b" | "s" | "y" (bytes)
         | "n" (None) | {"I": digits} (an int beyond 64 bits)
         | {"d": [[key, node], ...]} | {"l": [node, ...]} | {"u": [node, ...]} (a tuple)
         | "li" | "lf" | "ui" | "uf" (a list or tuple of ints or floats, as one array)

A key is a text, or {"i": digits}, {"b": 0 or 1} or {"n": 0}. In a path, "%" is "%25", "/" "%2F", and
nothing "%00".
"""

from __future__ import annotations

import inspect
import json
import random
import sys
from typing import Any

import numpy as np

from ._dtypes import array_of, name_of, numpy_dtype, torch_dtype, torch_name, torch_tensor_of
from ._errors import InvalidArgumentError

LAYOUT = "%python"
_PLAIN = ("a", "i", "f", "b", "s")
_INT64 = range(-(2**63), 2**63)


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _number_sequence(value: list | tuple) -> str:
    """The kind of a sequence that is one array; "" if it is not."""
    if len(value) > 1:
        letter = "l" if type(value) is list else "u"
        if all(type(item) is int and item in _INT64 for item in value):
            return letter + "i"
        if all(type(item) is float for item in value):
            return letter + "f"
    return ""


class _Stateful:
    """Gets and sets the state of an object that is not data itself."""

    def __init__(self, get: Any, put: Any) -> None:
        self.get = get
        self.put = put


def _stateful(value: Any, place: str) -> _Stateful | None:
    if isinstance(value, type):
        return None
    if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
        return _Stateful(value.state_dict, value.load_state_dict)
    if isinstance(value, np.random.Generator):
        bits = value.bit_generator
        return _Stateful(lambda: bits.state, lambda state: setattr(bits, "state", state))
    if isinstance(value, np.random.RandomState):
        return _Stateful(value.get_state, value.set_state)
    if isinstance(value, random.Random):
        return _Stateful(value.getstate, value.setstate)
    if hasattr(value, "get_state") and hasattr(value, "set_state"):  # torch.Generator
        return _Stateful(value.get_state, value.set_state)
    if callable(value):
        return _Stateful(value, _counterpart(value, place))
    return None


def _counterpart(get: Any, place: str) -> Any:
    """The function that sets what `get` returns: load_state_dict of state_dict, set_x of get_x."""
    name = getattr(get, "__name__", "")
    owner = getattr(get, "__self__", None)
    if owner is None or inspect.ismodule(owner):
        owner = sys.modules.get(getattr(get, "__module__", None) or "")
    for put in ("load_" + name, name.replace("get", "set", 1)):
        if put != name and owner is not None and callable(getattr(owner, put, None)):
            return getattr(owner, put)
    raise InvalidArgumentError(
        f'"{place}": found the function {name or get!r}, and nothing that sets what it returns: give an object '
        "with state_dict() and load_state_dict()"
    )


class State:
    """A value of a program under a name: what python/src/python_state.h expects."""

    def __init__(self, name: str, owner: Any, key: Any) -> None:
        self._name = name
        self._owner = owner
        self._key = key

    # -- Saving.

    def list(self) -> tuple[list, list, list]:
        self._arrays: list = []
        self._texts: list = []
        self._keep: list = []
        value = self._owner[self._key]
        node = self._add("", value)
        if not (node in _PLAIN if _is_data(value) else node == "t" and _is_torch(value)):
            self._texts.append((LAYOUT, [json.dumps(node).encode()], []))
        keep = self._keep
        return self._arrays, self._texts, keep

    def _place(self, path: str) -> str:
        return f"{self._name}/{path}" if path else self._name

    def _add_array(self, path: str, array: np.ndarray, kind: str = "a") -> str:
        dtype = name_of(array, self._place(path))
        self._keep.append(array)
        self._arrays.append((path, array.__array_interface__["data"][0], dtype, list(array.shape)))
        return kind

    def _add_tensor(self, path: str, tensor: Any) -> str:
        held = tensor.detach()
        if held.device.type != "cpu":
            held = held.cpu()
        if held.layout != sys.modules["torch"].strided:
            raise InvalidArgumentError(
                f'"{self._place(path)}": found a tensor with the layout {held.layout}, expected a dense one'
            )
        held = held.contiguous()
        self._keep.append(held)
        self._arrays.append((path, held.data_ptr(), torch_name(held), list(held.shape)))
        return "t"

    def _add(self, path: str, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, np.ndarray):
            return self._add_array(path, value)
        if _is_torch(value):
            return self._add_tensor(path, value)
        if isinstance(value, np.generic):
            return self._add_array(path, np.array(value))
        if kind is bool:
            return self._add_array(path, np.array(value), "b")
        if kind is int:
            if value not in _INT64:
                return {"I": str(value)}
            return self._add_array(path, np.array(value, np.int64), "i")
        if kind is float:
            return self._add_array(path, np.array(value, np.float64), "f")
        if kind is str:
            self._texts.append((path, [value.encode("utf-8", "surrogatepass")], []))
            return "s"
        if kind is bytes or kind is bytearray:
            return self._add_array(path, np.frombuffer(bytes(value), np.uint8), "y")
        if value is None:
            return "n"
        if isinstance(value, dict):
            return {"d": [[_key_node(key), self._add(self._beneath(path, key), item)] for key, item in value.items()]}
        if isinstance(value, (list, tuple)):
            sequence = _number_sequence(value)
            if sequence:
                return self._add_array(path, np.array(value), sequence)
            letter = "l" if isinstance(value, list) else "u"
            return {letter: [self._add(self._beneath(path, i), item) for i, item in enumerate(value)]}
        stateful = _stateful(value, self._place(path))
        if stateful is not None:
            return self._add(path, stateful.get())
        if hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
            return self._add_array(path, np.array(value))  # A jax.Array, which never changes.
        raise InvalidArgumentError(
            f'"{self._place(path)}": found a {kind.__module__}.{kind.__qualname__}, expected an array, a number, a '
            "text, a list, a dict, or an object with state_dict() and load_state_dict()"
        )

    def _beneath(self, path: str, key: Any) -> str:
        text = str(key)
        if isinstance(key, float) or not isinstance(key, (str, int, type(None))):
            raise InvalidArgumentError(f'"{self._place(path)}": found the key {key!r}, expected a text or an int')
        text = text.replace("%", "%25").replace("/", "%2F") or "%00"
        return f"{path}/{text}" if path else text

    # -- Restoring.

    def plan(self, stored: dict[str, tuple[str, list[int]]]) -> list[tuple[str, str, list[int]]]:
        arrays, texts, _ = self.list()
        parts = {path: (dtype, list(shape)) for path, _, dtype, shape in arrays}
        fixed = {path: parts[path] for path in self._in_place()}
        if not stored:
            parts.update({path: ("string", list(shape)) for path, _, shape in texts})
        else:
            parts = {path: (dtype, list(shape)) for path, (dtype, shape) in stored.items()}
            parts.update(fixed)
        return [(path, dtype, shape) for path, (dtype, shape) in parts.items()]

    def _in_place(self) -> dict[str, Any]:
        """The arrays that a restore fills, by their paths: those that are not in an object's state."""
        found: dict[str, Any] = {}
        self._find("", self._owner[self._key], found)
        return found

    def _find(self, path: str, value: Any, found: dict[str, Any]) -> None:
        if isinstance(value, np.ndarray) or _is_torch(value):
            found[path] = value
        elif isinstance(value, dict):
            for key, item in value.items():
                self._find(self._beneath(path, key), item, found)
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                self._find(self._beneath(path, i), item, found)

    def begin(self, stored: dict[str, tuple[str, list[int]]]) -> dict[str, int]:
        """Memory for each array that is stored: the program's own, or new one."""
        in_place = self._in_place()
        self._stored = stored
        self._memory: dict[str, np.ndarray] = {}
        addresses = {}
        for path, (dtype, shape) in stored.items():
            if dtype == "string":
                continue
            memory = in_place.get(path)
            if isinstance(memory, np.ndarray):
                if not memory.flags.writeable:
                    raise InvalidArgumentError(f'"{self._place(path)}": found an array that cannot be written to')
            else:
                size = int(np.prod(shape, dtype=np.int64)) * _size_of(dtype)
                memory = np.empty(size, np.uint8)
                self._memory[path] = memory
            addresses[path] = memory.__array_interface__["data"][0]
        return addresses

    def finish(self, texts: dict[str, list[bytes]]) -> None:
        self._strings = texts
        current = self._owner[self._key]
        if LAYOUT in texts:
            node = json.loads(texts[LAYOUT][0])
        elif set(self._stored) == {""}:
            node = self._node_of("", current)
        else:
            node = self._inferred()
        restored = self._restored("", node, current)
        if restored is not current:
            self._owner[self._key] = restored
        self._memory = {}
        self._strings = {}

    def _node_of(self, path: str, current: Any) -> str:
        """Of a value without a layout, such as one of a C++ program."""
        dtype, shape = self._stored[path]
        if dtype == "string":
            return "s" if not shape else "a"
        if isinstance(current, np.ndarray) or shape:
            return "t" if _is_torch(current) else "a"
        if _is_torch(current):
            return "t"
        return {"b": "b", "i": "i", "u": "i", "f": "f"}.get(numpy_dtype(dtype).kind, "a")

    def _inferred(self) -> Any:
        """Of a value that another program has saved: its parts are those of a dict."""

        def tree(prefix: str) -> Any:
            keys: dict[str, Any] = {}
            for path in self._stored:
                if path.startswith(prefix):
                    keys.setdefault(path[len(prefix) :].split("/")[0])
            nodes = []
            for key in keys:
                path = prefix + key
                nodes.append([key, self._node_of(path, None) if path in self._stored else tree(path + "/")])
            return {"d": nodes}

        return tree("")

    def _array(self, path: str) -> np.ndarray:
        dtype, shape = self._stored[path]
        elements = self._strings[path] if dtype == "string" else self._memory[path]
        return array_of(elements, dtype, shape, self._place(path))

    def _restored(self, path: str, node: Any, current: Any) -> Any:
        """The value that `current` becomes: itself, where it can be changed."""
        stateful = None if _is_data(current) else _stateful(current, self._place(path))
        if stateful is not None:
            stateful.put(self._restored(path, node, None))
            return current
        if isinstance(node, str):
            return self._restored_leaf(path, node, current)
        ((letter, items),) = node.items()
        if letter == "I":
            return int(items)
        if letter == "d":
            result = current if isinstance(current, dict) else {}
            values = {}
            for key_node, item in items:
                key = _key_of(key_node)
                values[key] = self._restored(self._beneath(path, key), item, result.get(key))
            result.clear()
            result.update(values)
            return result
        old = current if isinstance(current, (list, tuple)) else ()
        values = [
            self._restored(self._beneath(path, i), item, old[i] if i < len(old) else None)
            for i, item in enumerate(items)
        ]
        if letter == "u":
            return tuple(values)
        if isinstance(current, list):
            current[:] = values
            return current
        return values

    def _restored_leaf(self, path: str, node: str, current: Any) -> Any:
        if node == "n":
            return None
        if node == "s":
            return self._strings[path][0].decode("utf-8", "surrogatepass")
        if _is_torch(current):
            torch = sys.modules["torch"]
            dtype, shape = self._stored[path]
            with torch.no_grad():
                current.copy_(torch_tensor_of(self._memory[path], dtype, shape))
            return current
        if node == "t":
            dtype, shape = self._stored[path]
            return torch_tensor_of(self._memory[path], dtype, shape)
        if node == "a":
            return current if path not in self._memory and isinstance(current, np.ndarray) else self._array(path)
        array = self._array(path)
        if node == "y":
            return array.tobytes()
        if len(node) == 2:
            return array.tolist() if node[0] == "l" else tuple(array.tolist())
        return array.item()


def _is_data(value: Any) -> bool:
    return value is None or isinstance(value, (np.ndarray, np.generic, dict, list, tuple, int, float, str, bytes))


def _size_of(dtype: str) -> int:
    try:
        return numpy_dtype(dtype).itemsize
    except NotImplementedError:
        return torch_dtype(dtype).itemsize


def _key_node(key: Any) -> Any:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return {"b": int(key)}
    return {"n": 0} if key is None else {"i": str(key)}


def _key_of(node: Any) -> Any:
    if isinstance(node, str):
        return node
    ((kind, value),) = node.items()
    return {"i": int, "b": bool, "n": lambda _: None}[kind](value)


def states(state: dict[str, Any]) -> list[tuple[str, State]]:
    """Of the entries of a program's state, which is a dict by name."""
    if not isinstance(state, dict):
        raise InvalidArgumentError(f"the state is a {type(state).__name__}, expected a dict of values by name")
    return [(str(name), State(str(name), state, name)) for name in state]
