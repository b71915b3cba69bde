# What the runtime itself costs (tools/bench_runtime/main.cpp says how to use it), and a driver that costs nothing.
add_executable(bench_runtime ${CMAKE_SOURCE_DIR}/tools/bench_runtime/main.cpp
                             ${CMAKE_SOURCE_DIR}/tools/bench_runtime/count.cpp
                             ${CMAKE_SOURCE_DIR}/tools/bench_runtime/warm.cpp
                             ${CMAKE_SOURCE_DIR}/tools/bench_runtime/launch.cpp)
target_link_libraries(bench_runtime PRIVATE coda_options ${CMAKE_DL_LIBS})
coda_link(bench_runtime coda_runtime)
coda_old_system(bench_runtime)
install(TARGETS bench_runtime COMPONENT tests)
add_library(coda_null_cuda SHARED ${CMAKE_SOURCE_DIR}/tools/bench_runtime/null_cuda.cpp
                                  ${CMAKE_SOURCE_DIR}/tools/bench_runtime/null_device.cpp)
target_link_libraries(coda_null_cuda PRIVATE coda_options)
