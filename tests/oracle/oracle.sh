# SPDX-License-Identifier: Apache-2.0
# oracle.sh SCRIPT ROTARY [MODULE]: runs SCRIPT, which needs Python with the module (default: numpy); 77 where there is
# none. The environment variable PYTHON may name one.
module=${3-numpy}
for python in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
    if "$python" -c "import $module" 2>/dev/null; then
        exec "$python" "$1" "$2"
    fi
done
echo "skipped: there is no Python with $module"
exit 77
