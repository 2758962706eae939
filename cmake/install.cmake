# Installation. Component `library` is the headers, both libraries, rotary.pc and the CMake package; component `program`
# is the program and its manual page (src/cli). No installed file contains the prefix, so `cmake --install` may be given
# another one.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rotary)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rotary DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
    FILES_MATCHING PATTERN "*.h")
install(TARGETS rotary_shared EXPORT rotary-targets COMPONENT library)
install(TARGETS rotary_static EXPORT rotary-static-targets COMPONENT library)
install(EXPORT rotary-targets NAMESPACE rotary:: DESTINATION ${package_folder} COMPONENT library)
install(EXPORT rotary-static-targets NAMESPACE rotary:: DESTINATION ${package_folder} COMPONENT library)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rotary-config.cmake.in
    ${PROJECT_BINARY_DIR}/rotary-config.cmake INSTALL_DESTINATION ${package_folder}
    NO_SET_AND_CHECK_MACRO)
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(same SameMinorVersion)
else()
    set(same SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rotary-config-version.cmake COMPATIBILITY ${same})
install(FILES ${PROJECT_BINARY_DIR}/rotary-config.cmake ${PROJECT_BINARY_DIR}/rotary-config-version.cmake
    DESTINATION ${package_folder} COMPONENT library)

# The path from the folder of rotary.pc to the prefix.
file(RELATIVE_PATH ROTARY_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/rotary.pc.in ${PROJECT_BINARY_DIR}/rotary.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rotary.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
