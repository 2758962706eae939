# SPDX-License-Identifier: Apache-2.0
"""The structs and enumerations of rotary/_abi.py are those of include/rotary and of librotary_config: a C compiler says
so.

The library takes structs that are shorter than its own (docs/reference/abi.md), so new members at the end are no
mistake.
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import unittest

from harness import main
from rotary import _abi

SOURCE = pathlib.Path(os.environ["ROTARY_SOURCE_DIR"])
COMPILER = shutil.which(os.environ.get("CC", "cc"))
# Structs that other structs hold by value have the same size; the others may be longer in the header.
CONST_VIEWS = {_abi.RopeView: "rotary_rope_const_view", _abi.AttentionView: "rotary_attention_const_view"}
ENUMERATIONS = {
    "ROTARY_PAIRING_": _abi.PAIRINGS, "ROTARY_SCALING_": _abi.SCALINGS, "ROTARY_COMPAT_": _abi.COMPATS,
    "ROTARY_AXES_": _abi.AXES, "ROTARY_": _abi.DIRECTIONS, "ROTARY_ISA_": _abi.ISAS,
}
OTHER_NAMES = {
    "ROTARY_SCALING_DYNAMIC": "ROTARY_SCALING_DYNAMIC_NTK",
}
VALUES = {"ROTARY_F32": _abi.DTYPES["float32"], "ROTARY_F16": _abi.DTYPES["float16"],
          "ROTARY_BF16": _abi.DTYPES["bfloat16"], "ROTARY_POSITION_I64": _abi.POSITION_TYPES["int64"],
          "ROTARY_POSITION_I32": _abi.POSITION_TYPES["int32"], "ROTARY_POSITION_F32": _abi.POSITION_TYPES["float32"],
          "ROTARY_MAX_AXES": _abi.MAX_AXES, "ROTARY_INVALID_ARGUMENT": 1, "ROTARY_OUT_OF_MEMORY": 2,
          "ROTARY_UNSUPPORTED": 5}


def c_name(struct):
    """RopeApplyCall is rotary_rope_apply_call."""
    return "rotary" + "".join("_" + c.lower() if c.isupper() else c for c in struct.__name__)


def structs():
    return [item for item in vars(_abi).values()
            if isinstance(item, type) and issubclass(item, _abi.Struct) and item is not _abi.Struct]


def assertions(struct, name):
    """C text that compiles only if the struct `name` begins with these members."""
    compared = ">=" if hasattr(struct, "struct_size") else "=="
    yield f'_Static_assert(sizeof({name}) {compared} {ctypes.sizeof(struct)}, "{name}");'
    for member, kind in struct._fields_:
        offset = getattr(struct, member).offset
        yield f'_Static_assert(offsetof({name}, {member}) == {offset}, "{name}.{member}");'
        yield f'_Static_assert(sizeof((({name} *)0)->{member}) == {ctypes.sizeof(kind)}, "{name}.{member}");'


def program():
    lines = ["#include <rotary/rotary.h>", '#include "config_library/config_library.h"']
    for struct in structs():
        lines += assertions(struct, c_name(struct))
        if struct in CONST_VIEWS:
            lines += assertions(struct, CONST_VIEWS[struct])
    values = dict(VALUES)
    for prefix, names in ENUMERATIONS.items():
        for name, value in names.items():
            constant = prefix + name.upper()
            values[OTHER_NAMES.get(constant, constant)] = value
    lines += [f'_Static_assert((int){name} == {value}, "{name}");' for name, value in values.items()]
    return "\n".join(lines) + "\n"


@unittest.skipUnless(COMPILER, "there is no C compiler")
class Layout(unittest.TestCase):
    def compiles(self, text):
        folders = [f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'src'}"]
        command = [COMPILER, "-std=c11", "-fsyntax-only", *folders, "-x", "c", "-"]
        return subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)

    def test_structs_and_values(self):
        result = self.compiles(program())
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_mistake_is_found(self):
        self.assertGreater(len(structs()), 15)
        text = program()
        offset = _abi.AttentionForwardCall.dropout.offset
        self.assertIn(f"dropout) == {offset}", text)
        wrong = text.replace(f"dropout) == {offset}", f"dropout) == {offset + 8}")
        self.assertNotEqual(self.compiles(wrong).returncode, 0)


if __name__ == "__main__":
    main()
