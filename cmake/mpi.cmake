# Finds MPI. Where it is missing, ROTARY_MPI is false, and the program refuses to run on several ranks.
set(ROTARY_MPI OFF)
if(ROTARY_RANKS)
    find_package(MPI COMPONENTS C QUIET)
    if(MPI_C_FOUND)
        set(ROTARY_MPI ON)
    endif()
endif()
message(STATUS "Library for mpi.h: ${ROTARY_MPI}")
