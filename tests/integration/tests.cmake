# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Tests on a simulated fabric: tests/integration/test_X.py, a ctest entry each,
# labelled `integration`; those of minutes `slow` as well.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(lab_environment PORTMAJOR_BUILD=${CMAKE_BINARY_DIR} PYTHONDONTWRITEBYTECODE=1)
if(PORTMAJOR_SANITIZE MATCHES "address")
	# opensm is not built with the sanitizer, so its runtime must come first.
	execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so
		OUTPUT_VARIABLE asan OUTPUT_STRIP_TRAILING_WHITESPACE)
	list(APPEND lab_environment PORTMAJOR_PRELOAD=${asan})
endif()

function(add_lab_test name)
	add_test(NAME integration.${name}
		COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/integration/test_${name}.py -v)
	set_tests_properties(integration.${name} PROPERTIES LABELS "integration;${ARGN}"
		TIMEOUT 1200 ENVIRONMENT "${lab_environment}")
endfunction()

foreach(name bad_input check cli compatibility drain events evidence exports features files
	flaps growth guid_files handover lids madcount multicast no_tree odd_fabrics operator
	orders other_fabrics preflight repair shadow sm_restart status whatif wire)
	add_lab_test(${name})
endforeach()
add_lab_test(docs)
add_lab_test(guide)
add_lab_test(report)
add_lab_test(bad_switch slow)
add_lab_test(big slow)
add_lab_test(dead_switches slow)
add_lab_test(diskfault slow)
add_lab_test(failover slow)
add_lab_test(repair_faults slow)
add_lab_test(random slow)
add_lab_test(soak slow)
add_lab_test(storm slow)
add_lab_test(wire_faults slow)
add_lab_test(huge slow)
set_tests_properties(integration.soak PROPERTIES TIMEOUT 2400)
# These keep both processors busy by themselves.
set_tests_properties(integration.big integration.huge PROPERTIES RUN_SERIAL ON)

# The plugin with ThreadSanitizer, built when its test is run.
if(NOT PORTMAJOR_SANITIZE)
	get_target_property(threads_sources portmajor_plugin SOURCES)
	add_library(portmajor_threads MODULE EXCLUDE_FROM_ALL ${threads_sources})
	foreach(folder ${core})
		get_target_property(sources pm_${folder} SOURCES)
		target_sources(portmajor_threads PRIVATE ${sources})
		target_include_directories(portmajor_threads PRIVATE include/${folder})
	endforeach()
	set_target_properties(portmajor_threads PROPERTIES OUTPUT_NAME portmajor PREFIX lib
		LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/threads)
	target_include_directories(portmajor_threads SYSTEM PRIVATE ${OPENSM_INCLUDE})
	target_compile_options(portmajor_threads PRIVATE -fsanitize=thread)
	target_link_options(portmajor_threads PRIVATE -fsanitize=thread)
	target_link_libraries(portmajor_threads PRIVATE m ${JANSSON})
	add_test(NAME threads.build
		COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target portmajor_threads)
	execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libtsan.so
		OUTPUT_VARIABLE tsan OUTPUT_STRIP_TRAILING_WHITESPACE)
	list(APPEND lab_environment PORTMAJOR_TSAN=${tsan})
	add_lab_test(threads)
	set_tests_properties(threads.build PROPERTIES LABELS integration
		FIXTURES_SETUP threads)
	set_tests_properties(integration.threads PROPERTIES FIXTURES_REQUIRED threads)
endif()
