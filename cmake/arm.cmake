# Builds for 64-bit Arm on another Linux, and runs the tests in user-mode emulation: Debian's gcc-aarch64-linux-gnu and
# qemu-user. The trainer needs oneDNN, jansson and libunistring for Arm: -DROTARY_TRAINER=ON -DROTARY_ARM_ROOT=FOLDER,
# with the packages libdnnl-dev, libdnnl2, libjansson-dev, libjansson4, libunistring-dev, libunistring2 and libstdc++6 of
# arm64 unpacked (dpkg -x) in FOLDER.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH ${ROTARY_ARM_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ROTARY_ARM_ROOT)
find_program(ROTARY_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(ROTARY_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${ROTARY_QEMU} -L /usr/aarch64-linux-gnu)
endif()
if(ROTARY_ARM_ROOT)
    set(arm_libraries ${ROTARY_ARM_ROOT}/usr/lib/aarch64-linux-gnu)
    set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link,${arm_libraries})
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -E LD_LIBRARY_PATH=${arm_libraries})
endif()
