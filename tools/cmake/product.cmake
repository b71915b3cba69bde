# The shared libraries. libcoda.so is every layer in one; libcoda_runtime.so loads and launches compiled kernels, and has
# no compiler. A release (CODA_LLVM_STATIC) carries its LLVM inside, and the command line and the tests are
# thin programs over it; a development build links those to the layers directly.

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
file(WRITE ${CMAKE_BINARY_DIR}/generated/coda_anchor.cpp "// Sources of the shared libraries are their layers.\n")

# A shared library of the layers' objects, each once: linking their archives whole would repeat those that several need.
function(coda_product name)
  cmake_parse_arguments(ARG "" "" "LAYERS;LINKS" ${ARGN})
  add_library(${name} SHARED ${CMAKE_BINARY_DIR}/generated/coda_anchor.cpp)
  foreach(layer IN LISTS ARG_LAYERS)
    get_target_property(type ${layer} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      target_sources(${name} PRIVATE $<TARGET_OBJECTS:${layer}>)
    endif()
  endforeach()
  target_link_libraries(${name} PRIVATE coda_options Threads::Threads nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS}
                                        ${ARG_LINKS})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime/include>
                                            $<INSTALL_INTERFACE:include> $<INSTALL_INTERFACE:include/coda>)
  target_compile_features(${name} INTERFACE cxx_std_20)
  install(TARGETS ${name} EXPORT coda_targets LIBRARY DESTINATION lib COMPONENT product)
  set(exports ${CMAKE_SOURCE_DIR}/tools/release/exports.map)
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports})
  set_property(TARGET ${name} PROPERTY LINK_DEPENDS ${exports})
  if(CODA_LLVM_STATIC)
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
    if(CODA_LLD)
      target_link_options(${name} PRIVATE -Wl,-O2)
    endif()
    coda_old_system(${name})
  endif()
endfunction()

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
