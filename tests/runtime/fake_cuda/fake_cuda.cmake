# The fake driver is linked too, so that the tests can steer it; the runtime finds it by its path, as any driver.
add_library(coda_fake_cuda SHARED ${CMAKE_CURRENT_LIST_DIR}/fake_cuda.cpp)
target_link_libraries(coda_fake_cuda PRIVATE coda_options)
coda_old_system(coda_fake_cuda)
target_link_libraries(test_runtime PRIVATE coda_fake_cuda)
# One that lacks what the table calls optional; loaded by its path, beside the other.
add_library(coda_old_fake_cuda SHARED ${CMAKE_CURRENT_LIST_DIR}/fake_cuda.cpp)
target_link_libraries(coda_old_fake_cuda PRIVATE coda_options)
target_compile_definitions(coda_old_fake_cuda PRIVATE FAKE_CUDA_BEFORE_11_8)
coda_old_system(coda_old_fake_cuda)
add_dependencies(test_runtime coda_old_fake_cuda)
install(TARGETS coda_fake_cuda coda_old_fake_cuda LIBRARY DESTINATION lib COMPONENT tests)

# Our table of the driver's ABI is compared with the real header where there is one.
find_path(CODA_CUDA_HEADER cuda.h PATHS /usr/local/cuda/include)
if(CODA_CUDA_HEADER)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/../driver_table_test.cpp TARGET_DIRECTORY test_runtime
    PROPERTIES COMPILE_OPTIONS "-isystem;${CODA_CUDA_HEADER};-DCODA_HAS_CUDA_HEADER")
endif()
