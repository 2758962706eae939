#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh LIBRARY LIST [ALLOWED]: the shared library exports what LIST names and nothing else, and uses nothing that ends
# the process or writes to its terminal, but for a function ALLOWED.
set -eu
library=$1 list=$2 allowed=${3-}
command -v nm >/dev/null || { echo "skipped: there is no nm"; exit 77; }
export LC_ALL=C
status=0

exported=$(nm -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | sort)
wanted=$(sort "$list")
if [ "$exported" != "$wanted" ]; then
    echo "exported and not in $list, or in it and not exported (if that is meant, change the list):"
    { echo "$exported"; echo "$wanted"; } | sort | uniq -u
    status=1
fi
if echo "$exported" | grep -v '^rotary_'; then
    echo "exported without the prefix rotary_"
    status=1
fi
used=$(nm -D --undefined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | grep -vx "$allowed" | sort)
[ -n "$used" ] || { echo "nm found nothing in $library"; status=1; }
if echo "$used" | grep -Ex '_*(exit|_Exit|quick_exit|abort|assert_fail|raise|kill|signal|perror|v?f?printf|(v?f?printf_chk)|f?putc|putchar|f?puts|fwrite|write|stdout|stderr|error|errx?|warnx?)'; then
    echo "used by $library, which must not end the process or print"
    status=1
fi
exit $status
