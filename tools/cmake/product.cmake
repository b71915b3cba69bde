# The shared library `coda`: every layer in one libcoda.so. A release (CODA_LLVM_STATIC) carries its LLVM inside, and
# the command line and the tests are thin programs over it; a development build links those to the layers directly.

# Makes a target run on older systems, in a release: their libstdc++ may lack what g++ 12 uses, and their glibc what its
# archive uses. libgcc stays shared; its archive wants a newer glibc.
function(coda_old_system target)
  if(CODA_LLVM_STATIC)
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tools/release/arc4random.cpp)
    target_link_options(${target} PRIVATE -static-libstdc++ -Wl,--gc-sections)
  endif()
endfunction()

set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
set(CMAKE_INSTALL_LIBDIR lib)
set(coda_all_layers coda_format coda_dsl coda_ir coda_codegen coda_runtime coda_jit)

file(WRITE ${CMAKE_BINARY_DIR}/generated/coda_anchor.cpp "// Sources of libcoda.so are its layers.\n")
add_library(coda SHARED ${CMAKE_BINARY_DIR}/generated/coda_anchor.cpp)
# The layers' objects, each once: linking their archives whole would repeat those that several layers need.
foreach(layer IN LISTS coda_all_layers)
  get_target_property(type ${layer} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_sources(coda PRIVATE $<TARGET_OBJECTS:${layer}>)
  endif()
endforeach()
target_link_libraries(coda PRIVATE coda_options coda_llvm Threads::Threads nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
target_include_directories(coda PUBLIC ${CMAKE_SOURCE_DIR}/runtime/include)
install(TARGETS coda LIBRARY DESTINATION lib)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/include/coda DESTINATION include)
# coda.h is C++ and shows the runtime's own classes.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.def"
        PATTERN include EXCLUDE PATTERN jit EXCLUDE PATTERN "host*" EXCLUDE)

if(CODA_LLVM_STATIC)
  set(exports ${CMAKE_SOURCE_DIR}/tools/release/exports.map)
  target_link_options(coda PRIVATE -Wl,--version-script=${exports} -Wl,--no-undefined)
  if(CODA_LLD)
    target_link_options(coda PRIVATE -Wl,--icf=safe -Wl,-O2)
  endif()
  set_property(TARGET coda PROPERTY LINK_DEPENDS ${exports})
  coda_old_system(coda)
endif()

# Links a target to layers (development) or to libcoda.so in their place (release).
function(coda_link target)
  set(links ${ARGN})
  if(CODA_LLVM_STATIC)
    list(REMOVE_ITEM links ${coda_all_layers})
    list(APPEND links coda_options coda Threads::Threads nlohmann_json::nlohmann_json)
  endif()
  target_link_libraries(${target} PUBLIC ${links})
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    coda_old_system(${target})
  endif()
endfunction()
