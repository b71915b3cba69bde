# The PTX emulator and, on top of it, a libcuda that runs kernels; always optimised, for tests wait for it.
file(GLOB CODA_EMULATOR_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/emulator/*.cpp)
add_library(coda_ptx_emulator STATIC ${CODA_EMULATOR_SOURCES})
target_link_libraries(coda_ptx_emulator PUBLIC coda_options)
target_compile_options(coda_ptx_emulator PRIVATE -O3 -ffp-contract=off $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
set_target_properties(coda_ptx_emulator PROPERTIES POSITION_INDEPENDENT_CODE ON)

add_library(coda_emulated_cuda SHARED ${CMAKE_CURRENT_LIST_DIR}/emulated_cuda/emulated_cuda.cpp
                                      ${CMAKE_CURRENT_LIST_DIR}/../runtime/fake_cuda/fake_cuda.cpp)
target_link_libraries(coda_emulated_cuda PRIVATE coda_options coda_ptx_emulator)
coda_old_system(coda_emulated_cuda)
