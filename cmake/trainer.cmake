# Finds what the program needs. Where something is missing, ROTARY_TRAINER=AUTO becomes OFF and ROTARY_TRAINER=ON is an
# error.
set(trainer_required REQUIRED)
if(ROTARY_TRAINER STREQUAL "AUTO")
    set(trainer_required)
endif()
if(ROTARY_TRAINER)
    set(trainer_needs ROTARY_JANSSON ROTARY_UNISTRING ROTARY_UNISTRING_HEADERS)
    if(ROTARY_ONEDNN)
        # Not by oneDNN's own configuration: that of Debian 12 asks for OpenCL's headers, which nothing here needs.
        find_package(OpenMP ${trainer_required} COMPONENTS C) # oneDNN's, to keep it to one thread
        find_library(ROTARY_DNNL dnnl ${trainer_required})
        find_path(ROTARY_DNNL_HEADERS dnnl.h ${trainer_required})
        list(APPEND trainer_needs OpenMP_C_FOUND ROTARY_DNNL ROTARY_DNNL_HEADERS)
    endif()
    find_library(ROTARY_JANSSON jansson ${trainer_required})
    find_library(ROTARY_UNISTRING unistring ${trainer_required})
    find_path(ROTARY_UNISTRING_HEADERS unictype.h ${trainer_required})
    foreach(found ${trainer_needs})
        if(NOT ${found})
            message(STATUS "The program is left out: ${found} is not found")
            set(ROTARY_TRAINER OFF)
        endif()
    endforeach()
endif()

# What onednn.c needs: nothing where plain_gemm.c is in its place.
add_library(rotary_onednn INTERFACE)
if(ROTARY_TRAINER AND ROTARY_ONEDNN)
    target_link_libraries(rotary_onednn INTERFACE ${ROTARY_DNNL} OpenMP::OpenMP_C)
    target_include_directories(rotary_onednn SYSTEM INTERFACE ${ROTARY_DNNL_HEADERS})
endif()
