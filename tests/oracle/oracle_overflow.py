# SPDX-License-Identifier: Apache-2.0
"""oracle_overflow.py ROTARY: where f32 overflows attend has no difference of the kernel, and says why: because of an input,
of the kernel's sums, or of the output."""
import numpy as np
from oracle_support import array, check, report, result

random = np.random.default_rng(20261126)
small = random.standard_normal((3, 2, 8))
for reason, more, x in [
        ("the query has a number beyond f32", [], {"query": small * 1e200}),
        ("the key has a number beyond f32", [], {"key": small * 1e200}),
        ("the value has a number beyond f32", [], {"value": small * 1e200}),
        ("the mask has a number beyond f32", ["--mask", array("mask.npy", np.full((3, 3), 1e200))], {}),
        ("scores or sums overflow in f32", [], {"query": small * 1e30, "key": small * 1e30}),
        ("the scale is 0 in f32", ["--scale", 1e-60], {}),
        ("the softcap is 0 in f32", ["--softcap", 1e-60], {}),
        (None, ["--mask", array("hidden.npy", np.where(np.eye(3) > 0, -1e200, 0))], {})]:
    files = [f for name in ["query", "key", "value"]
             for f in [f"--{name}", array(f"{name}.npy", x.get(name, small))]]
    kernel = result("attend", *files, "--output", "o.npy", "--json", *more)["librotary"]
    check(f"reason: {reason}", reason in kernel["reason"] if reason else "reason" not in kernel, str(kernel))
    check(f"a number beside {reason}", (kernel["largest_difference"] is None) == bool(reason), str(kernel))

report()
