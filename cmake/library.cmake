# librotary, shared and static, from the same objects. The program links the static one, because it also uses
# what the shared one hides.
set(ROTARY_LIBRARY_OBJECTS
    $<TARGET_OBJECTS:rotary_base> ${KERNEL_OBJECTS_rope} ${KERNEL_OBJECTS_attention} $<TARGET_OBJECTS:rotary_rope>
    $<TARGET_OBJECTS:rotary_attention>)

add_library(rotary_shared SHARED ${ROTARY_LIBRARY_OBJECTS})
set_target_properties(rotary_shared PROPERTIES OUTPUT_NAME rotary VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(rotary_shared PRIVATE OpenMP::OpenMP_C m)

add_library(rotary_static STATIC ${ROTARY_LIBRARY_OBJECTS})
set_target_properties(rotary_static PROPERTIES OUTPUT_NAME rotary)
target_link_libraries(rotary_static PUBLIC OpenMP::OpenMP_C m)
