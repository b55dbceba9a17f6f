# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Compiles for another processor with Debian's cross compiler; scripts/cross-build uses it.
#   CROSS_TRIPLET   the processor, as compilers name it: s390x-linux-gnu
#   CROSS_SYSROOT   folder with libraries and headers for it, laid out as from /
# What is built for it is run by qemu-user.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CROSS_TRIPLET CROSS_SYSROOT)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${CROSS_TRIPLET}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_CXX_COMPILER ${CROSS_TRIPLET}-g++)
set(CMAKE_SYSROOT ${CROSS_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L ${CROSS_SYSROOT})

# Programs of this machine; everything else of the other one.
set(CMAKE_FIND_ROOT_PATH ${CROSS_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CROSS_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${CROSS_SYSROOT}/usr/lib/${CROSS_TRIPLET}/pkgconfig:${CROSS_SYSROOT}/usr/share/pkgconfig)
