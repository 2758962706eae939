# cmake -DSOURCE=... -DGIT=... -DOUTPUT=... -P commit.cmake: writes a C file with the commit of the source tree. A file
# that would not change is not written, so that nothing is compiled anew. Without git, or outside a repository of this
# project (a release's archive, maybe inside another repository), the commit is "unknown".
set(commit unknown)
if(GIT)
    set(ENV{GIT_OPTIONAL_LOCKS} 0)
    execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    file(REAL_PATH "${SOURCE}" here)
    if(top STREQUAL here)
        # The commit alone, without tags; -dirty: files differ from it.
        execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=40 --exclude=*
            OUTPUT_VARIABLE described ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
        if(described MATCHES "^[0-9a-f]+(-dirty)?$")
            set(commit ${described})
        endif()
    endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[/* Written by cmake/commit.cmake. */
#include "cli/program.h"

const char *program_commit(void)
{
    return "@commit@";
}
]])
