# Finds what the program needs. Where something is missing, ROTARY_TRAINER=AUTO becomes OFF and ROTARY_TRAINER=ON is an
# error.
set(trainer_required REQUIRED)
if(ROTARY_TRAINER STREQUAL "AUTO")
    set(trainer_required)
endif()
if(ROTARY_TRAINER)
    # Not by oneDNN's own configuration: that of Debian 12 asks for OpenCL's headers, which nothing here needs.
    find_package(OpenMP ${trainer_required} COMPONENTS C) # oneDNN's, to keep it to one thread
    find_library(ROTARY_DNNL dnnl ${trainer_required})
    find_path(ROTARY_DNNL_HEADERS dnnl.h ${trainer_required})
    find_library(ROTARY_JANSSON jansson ${trainer_required})
    find_library(ROTARY_UNISTRING unistring ${trainer_required})
    find_path(ROTARY_UNISTRING_HEADERS unictype.h ${trainer_required})
    foreach(found OpenMP_C_FOUND ROTARY_DNNL ROTARY_DNNL_HEADERS ROTARY_JANSSON ROTARY_UNISTRING ROTARY_UNISTRING_HEADERS)
        if(NOT ${found})
            message(STATUS "The program is left out: ${found} is not found")
            set(ROTARY_TRAINER OFF)
        endif()
    endforeach()
endif()
