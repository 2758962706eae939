# What the wheel has besides python/rotary (pyproject.toml, docs/reference/python.md): the shared library under a name without a
# version, because a wheel has no links; the reader of configurations and the program, where they are built; and the
# script that finds the program.
add_custom_target(wheel DEPENDS rotary_shared $<TARGET_NAME_IF_EXISTS:rotary_config_library>
    $<TARGET_NAME_IF_EXISTS:rotary>)
install(FILES $<TARGET_FILE:rotary_shared> DESTINATION rotary RENAME librotary.so COMPONENT python)
if(ROTARY_TRAINER)
    set_target_properties(rotary rotary_config_library PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS rotary_config_library LIBRARY DESTINATION rotary COMPONENT python)
    install(TARGETS rotary RUNTIME DESTINATION rotary/bin COMPONENT python)
endif()
install(PROGRAMS ${PROJECT_SOURCE_DIR}/python/program.py DESTINATION ${SKBUILD_SCRIPTS_DIR} RENAME rotary COMPONENT python)
