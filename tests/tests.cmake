# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
find_library(CMOCKA cmocka REQUIRED)

# Unit tests: tests/unit/test_X.c, a program each.
foreach(module fabric netlist generate)
	add_executable(test_${module} tests/unit/test_${module}.c)
	target_link_libraries(test_${module} PRIVATE portmajor_core ${CMOCKA})
	add_test(NAME unit.${module} COMMAND test_${module})
	set_tests_properties(unit.${module} PROPERTIES LABELS unit TIMEOUT 300)
endforeach()

# Fuzz targets: the corpus is replayed by ctest; with PORTMAJOR_FUZZ, libFuzzer too.
foreach(input netlist)
	file(GLOB corpus CONFIGURE_DEPENDS tests/fuzz/corpus/${input}/*)
	add_executable(replay_${input} tests/fuzz/fuzz_${input}.c tests/fuzz/replay_main.c)
	target_link_libraries(replay_${input} PRIVATE portmajor_core)
	add_test(NAME fuzz.${input} COMMAND replay_${input} ${corpus})
	set_tests_properties(fuzz.${input} PROPERTIES LABELS unit TIMEOUT 300)
	if(PORTMAJOR_FUZZ)
		add_executable(fuzz_${input} tests/fuzz/fuzz_${input}.c)
		target_compile_options(fuzz_${input} PRIVATE -fsanitize=fuzzer)
		target_link_options(fuzz_${input} PRIVATE -fsanitize=fuzzer)
		target_link_libraries(fuzz_${input} PRIVATE portmajor_core)
	endif()
endforeach()
