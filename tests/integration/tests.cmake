# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Tests on a simulated fabric: tests/integration/test_X.py, a ctest entry each, labelled
# `integration`; those of portmajor-lab and portmajor-vlan also `lab` and `vlan`. Those in which
# disks, wires, switches or allocations fail, and those that compile, are also labelled `ci`,
# those that take minutes of CPU time `slow`: scripts/test runs these with --ci, or --all.
# Counts opensm's MADs; the integration tests preload it.
add_library(madcount MODULE tests/integration/madcount.c)
target_link_libraries(madcount PRIVATE ${CMAKE_DL_LIBS})
# Treats MADs like a kernel and a real wire, and by rules; preloaded below the former.
add_library(wire MODULE tests/integration/wire.c tests/integration/wire_links.c
	tests/integration/wire_nodes.c tests/integration/wire_sender.c
	tests/integration/wire_truth.c)
target_link_libraries(wire PRIVATE ${CMAKE_DL_LIBS})
target_include_directories(wire SYSTEM PRIVATE ${OPENSM_INCLUDE})
# Makes writes of files fail, or ends the process there.
add_library(diskfault MODULE tests/integration/diskfault.c)
target_link_libraries(diskfault PRIVATE ${CMAKE_DL_LIBS})
# Makes the plugin's own allocations fail.
add_library(allocfault MODULE tests/integration/allocfault.c)
target_link_libraries(allocfault PRIVATE ${CMAKE_DL_LIBS})
target_compile_options(allocfault PRIVATE -fno-builtin -fno-sanitize=all)
# Gives ibdmchk room behind its allocations.
add_library(heaproom MODULE tests/integration/heaproom.c)
target_compile_options(heaproom PRIVATE -fno-builtin -fno-sanitize=all)
# Records how long opensm holds its lock exclusively.
add_library(lockwatch MODULE tests/integration/lockwatch.c)
target_link_libraries(lockwatch PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(madcount wire diskfault allocfault heaproom lockwatch PROPERTIES C_VISIBILITY_PRESET default)

set(lab_environment PORTMAJOR_BUILD=${CMAKE_BINARY_DIR} PYTHONDONTWRITEBYTECODE=1)
if(PORTMAJOR_SANITIZE MATCHES "address")
	# opensm is built without the sanitizer, so the sanitizer's runtime must be loaded
	# first.
	execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so
		OUTPUT_VARIABLE asan OUTPUT_STRIP_TRAILING_WHITESPACE)
	list(APPEND lab_environment PORTMAJOR_PRELOAD=${asan})
endif()

# add_lab_test(NAME [slow] [ci] [lab] [vlan] [COST SECONDS] [PROCESSORS N] [PARTS N]): tests with
# the highest COST start first; PROCESSORS is for tests that compute while others wait; with
# PARTS the test has as many entries, each with some of the file's tests (see labtest.main),
# which run side by side.
function(add_lab_test name)
	cmake_parse_arguments(ARG "slow;ci;lab;vlan" "COST;PROCESSORS;PARTS" "" ${ARGN})
	set(labels integration)
	foreach(label slow ci lab vlan)
		if(ARG_${label})
			list(APPEND labels ${label})
		endif()
	endforeach()
	if(NOT ARG_PARTS)
		set(ARG_PARTS 1)
	endif()
	foreach(part RANGE 1 ${ARG_PARTS})
		set(entry integration.${name})
		if(ARG_PARTS GREATER 1)
			set(entry ${entry}.${part})
		endif()
		add_test(NAME ${entry}
			COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/integration/test_${name}.py -v)
		set_tests_properties(${entry} PROPERTIES LABELS "${labels}" TIMEOUT 1200
			ENVIRONMENT "${lab_environment};PM_PART=${part}/${ARG_PARTS}")
		foreach(property COST PROCESSORS)
			if(ARG_${property})
				set_tests_properties(${entry} PROPERTIES ${property} ${ARG_${property}})
			endif()
		endforeach()
	endforeach()
endfunction()

foreach(name bad_input cli compatibility docs exports guid_files guide install measuring names operator
		preflight readers status table whatif)
	add_lab_test(${name})
endforeach()
foreach(name flit_engine job lanes lft_trace mixture paper_circuits paper_dsm replay shards traffic_jobs)
	add_lab_test(${name} lab)
endforeach()
add_lab_test(lid_history COST 150)
add_lab_test(lldp vlan)
add_lab_test(paper_vlan lab vlan)
add_lab_test(allocfault ci COST 60)
add_lab_test(bad_switch ci PARTS 4 COST 90)
add_lab_test(balance COST 40)
add_lab_test(benchmark COST 40)
add_lab_test(check COST 60)
add_lab_test(check_now COST 60)
add_lab_test(dead_switches COST 60)
add_lab_test(control PARTS 4 COST 60)
add_lab_test(diskfault ci PARTS 4 COST 120)
add_lab_test(drain PARTS 2 COST 130)
add_lab_test(ethernet vlan COST 15)
add_lab_test(event_log COST 20)
add_lab_test(events COST 90)
add_lab_test(failover slow PARTS 5 PROCESSORS 2 COST 60)
add_lab_test(features COST 130)
add_lab_test(files COST 50)
add_lab_test(flaps COST 90)
add_lab_test(settings COST 40)
add_lab_test(short_events COST 30)
add_lab_test(growth PARTS 3 COST 110)
add_lab_test(handover PARTS 4 COST 70)
add_lab_test(lids COST 70)
add_lab_test(madcount COST 60)
add_lab_test(missing COST 60)
add_lab_test(simgrid_platform lab COST 30)
add_lab_test(two_managers COST 60)
add_lab_test(port_errors COST 110)
add_lab_test(returns PARTS 4 COST 90)
add_lab_test(throttle PARTS 2 COST 150)
add_lab_test(expect)
add_lab_test(monitoring COST 30)
add_lab_test(multicast COST 50)
add_lab_test(group_masters PARTS 2 COST 130)
add_lab_test(groups PARTS 2 COST 140)
add_lab_test(engine_check COST 40)
add_lab_test(night slow COST 600 PROCESSORS 2)
add_lab_test(no_tree COST 50)
add_lab_test(odd_fabrics PARTS 3 COST 60)
add_lab_test(odd_trees slow COST 20)
add_lab_test(rebalance COST 15)
add_lab_test(recabled COST 60)
add_lab_test(moments ci PARTS 4 COST 80)
add_lab_test(odd_answers ci PARTS 4 COST 60)
add_lab_test(orders COST 60)
add_lab_test(outside_names COST 40)
add_lab_test(other_fabrics COST 90)
add_lab_test(paper_rhinet slow lab COST 40)
add_lab_test(packages slow COST 90)
add_lab_test(places COST 60)
add_lab_test(quiet slow COST 50)
add_lab_test(random COST 150)
add_lab_test(large_fabrics slow PARTS 4 COST 200)
add_lab_test(large_report slow COST 40)
add_lab_test(real_fabrics PARTS 2 COST 40)
add_lab_test(record_sets lab COST 30)
add_lab_test(repair PARTS 2 COST 80)
add_lab_test(repair_faults ci PARTS 4 COST 120)
add_lab_test(restoring PARTS 2 COST 30)
add_lab_test(report COST 90)
add_lab_test(return_prediction COST 40)
add_lab_test(shadow COST 40)
add_lab_test(simgrid lab COST 20)
add_lab_test(slurm COST 30)
add_lab_test(sm_restart PARTS 3 COST 60)
add_lab_test(soak slow COST 300)
add_lab_test(storm slow PROCESSORS 2 COST 250)
add_lab_test(unset PARTS 2 COST 90)
add_lab_test(vlan_bridges vlan slow COST 60)
add_lab_test(vlan_guests vlan slow COST 90 PROCESSORS 2)
add_lab_test(vlan_live vlan COST 30)
add_lab_test(vlan_loops vlan COST 40)
add_lab_test(vlan_loader vlan COST 20)
add_lab_test(vlan vlan PARTS 2 COST 40)
add_lab_test(vlan_service vlan slow COST 60)
add_lab_test(vlan_speed vlan slow COST 70)
add_lab_test(wire COST 50)
add_lab_test(wire_faults ci COST 150)
add_lab_test(wire_truth COST 25)
# These measure rates and times, so they run alone.
set_tests_properties(integration.vlan_speed integration.quiet PROPERTIES RUN_SERIAL TRUE)
set_tests_properties(integration.soak PROPERTIES TIMEOUT 2400)
# Without a cost these long ones would run last, and alone.
set_tests_properties(integration.bad_input integration.guide integration.operator
	integration.status PROPERTIES COST 50)
# The list of the last installed files is one file of the build folder.
set_tests_properties(integration.install integration.report PROPERTIES RESOURCE_LOCK manifest)
# Each of these keeps a processor busy.
add_lab_test(big slow COST 400 PROCESSORS 3)
add_lab_test(huge slow COST 500 PROCESSORS 3)

# The tc program of portmajor-vlan in the kernel, without any device: test_vlan_loader.py.
if(PORTMAJOR_VLAN)
	set(tried ${CMAKE_BINARY_DIR}/vlan/vlan_program.bpf.o)
	add_bpf_object(${tried} tests/tools/vlan_program.bpf.c)
	add_executable(vlan_program tests/tools/vlan_program.c plugins/vlan/content.c)
	set_source_files_properties(tests/tools/vlan_program.c PROPERTIES
		OBJECT_DEPENDS ${tried})
	target_include_directories(vlan_program SYSTEM PRIVATE ${LIBBPF_INCLUDE})
	target_link_libraries(vlan_program PRIVATE portmajor_core ${LIBBPF})
	add_executable(tcx_program tests/tools/tcx_program.c plugins/vlan/tcx.c
		plugins/vlan/content.c)
	target_include_directories(tcx_program SYSTEM PRIVATE ${LIBBPF_INCLUDE})
	target_link_libraries(tcx_program PRIVATE portmajor_core ${LIBBPF})
	# For virtual machines: test_vlan_bridges.py.
	add_executable(send_frames tests/tools/send_frames.c)
	# Makes devices report that they filter VLANs.
	add_library(vlanfilter MODULE tests/integration/vlanfilter.c)
	set_target_properties(vlanfilter PROPERTIES C_VISIBILITY_PRESET default)
endif()

# An MPI program that test_simgrid.py and test_simgrid_platform.py run, where SimGrid is there.
find_program(SMPICC smpicc)
if(SMPICC)
	add_custom_command(OUTPUT simgrid_collective
		COMMAND ${SMPICC} -O1 -Wall -Wextra
			${CMAKE_SOURCE_DIR}/tests/tools/simgrid_collective.c -o simgrid_collective
		DEPENDS tests/tools/simgrid_collective.c VERBATIM)
	add_custom_target(simgrid ALL DEPENDS simgrid_collective)
else()
	message(STATUS "no SimGrid: collectives are not compared with it")
endif()

# add_checked_plugin(NAME SANITIZER LIBRARY): the plugin, but nothing else, with a
# sanitizer, in a folder NAME of the build folder. It is built when integration.NAME runs,
# which finds the sanitizer's runtime in $PORTMAJOR_LIBRARY.
function(add_checked_plugin name sanitizer library)
	get_target_property(sources portmajor_plugin SOURCES)
	add_library(portmajor_${name} MODULE EXCLUDE_FROM_ALL ${sources})
	set(folders ${core})
	list(REMOVE_ITEM folders memory vlan lab) # are no part of it
	foreach(folder ${folders})
		get_target_property(sources pm_${folder} SOURCES)
		target_sources(portmajor_${name} PRIVATE ${sources})
	endforeach()
	target_include_directories(portmajor_${name} PRIVATE include plugins/opensm)
	set_target_properties(portmajor_${name} PROPERTIES OUTPUT_NAME portmajor PREFIX lib
		LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${name})
	target_include_directories(portmajor_${name} SYSTEM PRIVATE ${OPENSM_INCLUDE})
	target_compile_options(portmajor_${name} PRIVATE -fsanitize=${sanitizer} -O1 -g1)
	target_link_options(portmajor_${name} PRIVATE -fsanitize=${sanitizer} -Wl,-z,nodelete)
	target_link_libraries(portmajor_${name} PRIVATE m ${JANSSON} ${EVENT})
	add_test(NAME ${name}.build
		COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target portmajor_${name})
	execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${library}.so
		OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
	string(TOUPPER ${library} variable)
	list(APPEND lab_environment PORTMAJOR_${variable}=${runtime})
	add_lab_test(${name} ci)
	set_tests_properties(${name}.build PROPERTIES FIXTURES_SETUP ${name} LABELS "integration;ci"
		COST 160)
	set_tests_properties(integration.${name} PROPERTIES FIXTURES_REQUIRED ${name})
endfunction()

if(NOT PORTMAJOR_SANITIZE)
	add_checked_plugin(threads thread tsan)
	add_checked_plugin(address address asan)
	set_tests_properties(integration.address PROPERTIES COST 120)
endif()

# A file without an entry here would never run. (These two: not with a sanitizer.)
file(GLOB lab_files CONFIGURE_DEPENDS tests/integration/test_*.py)
foreach(file ${lab_files})
	string(REGEX REPLACE ".*/test_(.*)\\.py" "\\1" name ${file})
	if(NOT TEST integration.${name} AND NOT TEST integration.${name}.1
			AND NOT name MATCHES "^(threads|address)$")
		message(FATAL_ERROR "${file}: no add_lab_test(${name})")
	endif()
endforeach()
