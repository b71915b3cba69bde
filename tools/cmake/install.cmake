# What `cmake --install` and CPack ship: the libraries, the command line, headers, and how CMake and pkg-config find
# them. Headers lie in include/coda; those of the runtime that coda.h shows beside it in include/coda/runtime.
include(CMakePackageConfigHelpers)

set(coda_package_folder lib/cmake/coda)
install(EXPORT coda_targets NAMESPACE coda:: FILE coda-targets.cmake DESTINATION ${coda_package_folder} COMPONENT product)
configure_package_config_file(${CMAKE_SOURCE_DIR}/tools/cmake/coda-config.cmake.in
                              ${CMAKE_BINARY_DIR}/generated/coda-config.cmake INSTALL_DESTINATION ${coda_package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/coda-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/coda-config.cmake ${CMAKE_BINARY_DIR}/generated/coda-config-version.cmake
        DESTINATION ${coda_package_folder} COMPONENT product)

set(coda_pc_coda coda)
set(coda_pc_coda-runtime coda_runtime)
foreach(package coda-runtime coda)
  if(package STREQUAL "coda" AND NOT CODA_COMPILER)
    continue()
  endif()
  set(CODA_PC_LIBRARY ${coda_pc_${package}})
  set(CODA_PC_NAME ${package})
  configure_file(${CMAKE_SOURCE_DIR}/tools/cmake/coda.pc.in ${CMAKE_BINARY_DIR}/generated/${package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/generated/${package}.pc DESTINATION lib/pkgconfig COMPONENT product)
endforeach()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/include/coda DESTINATION include COMPONENT product)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime DESTINATION include/coda COMPONENT product
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN include EXCLUDE PATTERN jit EXCLUDE PATTERN "host*" EXCLUDE)
install(FILES ${CMAKE_SOURCE_DIR}/examples/python/coda.py ${CMAKE_SOURCE_DIR}/examples/python/coda_torch.py DESTINATION share/coda/python COMPONENT product)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/coda COMPONENT product)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME coda)
set(CPACK_PACKAGE_CONTACT "the coda team <coda@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Compiler of .coda programs: GEMMs with everything around them in the epilogue")
set(CPACK_COMPONENTS_ALL product)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PRODUCT_PACKAGE_NAME coda)
set(CPACK_DEBIAN_PRODUCT_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libcuda1")
set(CPACK_STRIP_FILES ON)
include(CPack)
