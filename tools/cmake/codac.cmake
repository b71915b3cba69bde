# The command line: its commands as a library, so that tests can reach the parts, and a thin main.
find_package(CLI11 REQUIRED)
file(GLOB codac_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/codac/*.cpp)
list(FILTER codac_sources EXCLUDE REGEX "/main.cpp$")
add_library(coda_commands STATIC ${codac_sources})
target_link_libraries(coda_commands PUBLIC coda_options CLI11::CLI11 nlohmann_json::nlohmann_json)
target_compile_definitions(coda_commands PRIVATE CODA_VERSION="${PROJECT_VERSION}"
                           CODA_LLVM_VERSION="${CODA_LLVM_VERSION}")
add_executable(codac ${CMAKE_SOURCE_DIR}/tools/codac/main.cpp)
coda_link(coda_commands coda_jit)
target_link_libraries(codac PRIVATE coda_commands)
coda_old_system(codac)
install(TARGETS codac COMPONENT product)
