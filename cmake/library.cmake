# librotary, shared and static, from the same objects. The program links the static one, because it uses functions
# that the shared one does not export.
set(ROTARY_LIBRARY_OBJECTS
    $<TARGET_OBJECTS:rotary_base> ${KERNEL_OBJECTS_rope} ${KERNEL_OBJECTS_attention} $<TARGET_OBJECTS:rotary_rope>
    $<TARGET_OBJECTS:rotary_attention>)

# The soname changes with every ABI (docs/reference/abi.md): before 1.0 with each minor version.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(ROTARY_ABI 0.${PROJECT_VERSION_MINOR})
else()
    set(ROTARY_ABI ${PROJECT_VERSION_MAJOR})
endif()

add_library(rotary_shared SHARED ${ROTARY_LIBRARY_OBJECTS})
set_target_properties(rotary_shared PROPERTIES OUTPUT_NAME rotary EXPORT_NAME rotary VERSION ${PROJECT_VERSION}
    SOVERSION ${ROTARY_ABI})
target_link_libraries(rotary_shared PRIVATE Threads::Threads m)
# Its threads sleep in its code, so that it stays where dlclose would remove it.
target_link_options(rotary_shared PRIVATE -Wl,-z,nodelete)

add_library(rotary_static STATIC ${ROTARY_LIBRARY_OBJECTS})
set_target_properties(rotary_static PROPERTIES OUTPUT_NAME rotary)
target_link_libraries(rotary_static PUBLIC Threads::Threads m)

foreach(target rotary_shared rotary_static)
    target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

# The target names of the installed package, for examples/.
add_library(rotary::rotary ALIAS rotary_shared)
add_library(rotary::rotary_static ALIAS rotary_static)
