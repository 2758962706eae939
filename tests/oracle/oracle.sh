# SPDX-License-Identifier: Apache-2.0
# oracle.sh SCRIPT ROTARY: runs SCRIPT, which needs Python with NumPy; 77 where there is none.
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
        exec "$python" "$1" "$2"
    fi
done
echo "skipped: python3 with NumPy is not there"
exit 77
