#!python
# SPDX-License-Identifier: Apache-2.0
"""`rotary` on the path of an environment: runs the program in the package, without importing the package."""
import importlib.util
import os
import sys

spec = importlib.util.find_spec("rotary")
programs = [os.path.join(folder, "bin", "rotary") for folder in (spec and spec.submodule_search_locations) or []]
for program in programs:
    if os.path.exists(program):
        os.execv(program, sys.argv)
sys.exit(f"rotary: there is no program at {' or '.join(programs)}: the package was built where oneDNN, jansson or "
         "libunistring was missing; install them (in Debian libdnnl-dev, libjansson-dev, libunistring-dev), then the "
         "package again")
