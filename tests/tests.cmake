# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Unit tests: tests/unit/test_X.c, a program each.
add_library(unit_cmocka INTERFACE)
target_sources(unit_cmocka INTERFACE ${PROJECT_SOURCE_DIR}/tests/unit/choose_cases.c)
target_link_libraries(unit_cmocka INTERFACE ${CMOCKA})
add_library(test_tools STATIC tests/unit/recipe.c tests/unit/reference.c
	tests/unit/world.c tests/unit/mscene.c tests/unit/mwalk.c)
target_link_libraries(test_tools PUBLIC portmajor_core unit_cmocka)
# What cmocka 2 wants in place of assert_in_range, cmocka 1.1 does not have.
target_compile_definitions(test_tools PUBLIC CMOCKA_DISABLE_DEPRECATION_WARNINGS)
foreach(module fabric netlist netlist_missing generate tree reach plan route delta check whatif config
		change_text plan_file roles reachable failback opensm_conf locate damping drain properties degrade lft_file
		lid_history replace damping_file pool judge search textfile failures lexer
		lft_capacity failure_summary failure_trials paths cutoff link circuits event_queue dsm flit lft_trace goal
		workload packet lanes rates engines stuck calls replay mixture host_table mac_list
		vlan cover share bisection student guess steps requests mft multicast
		mft_steps mft_bound mft_failure missing check_mfts mft_file nearest
		cable_diff odd_trees apart return_cost drawing migration)
	add_executable(test_${module} tests/unit/test_${module}.c)
	target_link_libraries(test_${module} PRIVATE test_tools)
	add_test(NAME unit.${module} COMMAND test_${module})
	set_tests_properties(unit.${module} PROPERTIES LABELS unit TIMEOUT 900)
endforeach()

# add_labels(LABEL TEST...): labels for the tests of a product, beside `unit`.
function(add_labels label)
	foreach(test ${ARGN})
		set_property(TEST ${test} APPEND PROPERTY LABELS ${label})
	endforeach()
endfunction()
foreach(module bisection calls circuits cutoff dsm engines event_queue flit goal lanes
		lft_trace mixture packet rates replay share stuck student workload)
	add_labels(lab unit.${module})
endforeach()
foreach(module cover host_table mac_list vlan)
	add_labels(vlan unit.${module})
endforeach()

# A single case can be run.
add_test(NAME unit.choose_cases COMMAND ${CMAKE_COMMAND} -E env PM_CASE=test_p*nes
	$<TARGET_FILE:test_tree>)
set_tests_properties(unit.choose_cases PROPERTIES LABELS unit
	PASS_REGULAR_EXPRESSION "Running 1 test")

# Has no public header.
target_include_directories(test_cover PRIVATE src/vlan)

# All sizes of rings of a thousand processes, too.
if(NOT PORTMAJOR_SANITIZE) # it would take minutes
	add_test(NAME circuits.all COMMAND test_circuits all)
	set_tests_properties(circuits.all PROPERTIES LABELS "slow;lab" TIMEOUT 900 COST 30)
endif()

# The longest test, and it computes.
set_tests_properties(unit.properties PROPERTIES COST 300 PROCESSORS 2 TIMEOUT 900)
set_tests_properties(unit.steps PROPERTIES COST 100)
# The test makes each of these calls fail.
target_link_options(test_replace PRIVATE -Wl,--wrap=open,--wrap=write,--wrap=fsync
	-Wl,--wrap=close,--wrap=rename,--wrap=unlink)
target_link_options(test_pool PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=free
	-Wl,--wrap=posix_memalign)

# The order of the folders, and unique file names.
add_test(NAME cycles.includes COMMAND ${Python3_EXECUTABLE}
	${PROJECT_SOURCE_DIR}/tests/tools/include_order.py ${PROJECT_SOURCE_DIR} ${core})
set_tests_properties(cycles.includes PROPERTIES LABELS unit)

# No cycle of files in a folder.
foreach(target ${core})
	list(APPEND cycles pm_${target})
endforeach()
foreach(target ${cycles} pm_cli portmajor_cli portmajor_lab portmajor_vlan portmajor_plugin)
	add_test(NAME cycles.${target} COMMAND_EXPAND_LISTS
		COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/tools/cycles.py
			$<TARGET_OBJECTS:${target}>)
	set_tests_properties(cycles.${target} PROPERTIES LABELS unit)
endforeach()

# All builds compute the same tables. A program with a sanitizer would be slow.
if(NOT PORTMAJOR_SANITIZE)
	set(compiled)
	foreach(target ${cycles} pm_json pm_cli portmajor_cli)
		if(NOT target MATCHES "^pm_(vlan|lab)$") # not part of the engine
			get_target_property(sources ${target} SOURCES)
			list(APPEND compiled ${sources})
		endif()
	endforeach()
	list(REMOVE_DUPLICATES compiled)
	add_test(NAME unit.two_compilers COMMAND ${Python3_EXECUTABLE}
		${PROJECT_SOURCE_DIR}/tests/tools/two_compilers.py $<TARGET_FILE:portmajor_cli>
		-D_GNU_SOURCE -DPORTMAJOR_VERSION="${PROJECT_VERSION}" -I${PROJECT_SOURCE_DIR}/include
		-I${PROJECT_SOURCE_DIR}/src/cli -I${PROJECT_SOURCE_DIR}/src/cli/cmd
		-I${PROJECT_SOURCE_DIR}/src/cli/export ${compiled} ${JANSSON})
	set_tests_properties(unit.two_compilers PROPERTIES LABELS "unit;ci" TIMEOUT 900 COST 60
		PROCESSORS 2 SKIP_RETURN_CODE 77)
endif()

# add_link_test(TARGET WITHOUT...): a program has no symbol of these libraries.
function(add_link_test target)
	set(libraries)
	foreach(library ${ARGN})
		list(APPEND libraries $<TARGET_FILE:${library}>)
	endforeach()
	add_test(NAME linked.${target} COMMAND ${Python3_EXECUTABLE}
		${PROJECT_SOURCE_DIR}/tests/tools/linked.py $<TARGET_FILE:${target}>
		$<TARGET_FILE:pm_files> ${libraries})
	set_tests_properties(linked.${target} PROPERTIES LABELS unit)
endfunction()
add_link_test(portmajor_cli pm_vlan pm_lab)
add_link_test(portmajor_plugin pm_memory pm_vlan pm_lab pm_cli)
add_link_test(portmajor_vlan pm_lab)
add_link_test(portmajor_lab)

# JSON, which the core does not use.
add_executable(test_json_rows tests/unit/test_json_rows.c)
target_link_libraries(test_json_rows PRIVATE pm_json unit_cmocka)
add_test(NAME unit.json_rows COMMAND test_json_rows)
set_tests_properties(unit.json_rows PROPERTIES LABELS unit TIMEOUT 900)

# All ways out of a program, JSON among them.
add_executable(test_escape tests/unit/test_escape.c)
target_link_libraries(test_escape PRIVATE pm_json unit_cmocka)
target_compile_definitions(test_escape PRIVATE
	HOSTILE_NAMES="${PROJECT_SOURCE_DIR}/tests/data/hostile_names.json")
add_test(NAME unit.escape COMMAND test_escape)
set_tests_properties(unit.escape PROPERTIES LABELS unit TIMEOUT 900)

# Parts of the command.
foreach(file options text export/hostlist cmd/groups)
	get_filename_component(part ${file} NAME)
	add_executable(test_${part} tests/unit/test_${part}.c src/cli/${file}.c
		src/cli/output.c)
	target_link_libraries(test_${part} PRIVATE test_tools ${JANSSON})
	add_test(NAME unit.${part} COMMAND test_${part})
	set_tests_properties(unit.${part} PROPERTIES LABELS unit TIMEOUT 900)
endforeach()
target_include_directories(test_groups PRIVATE src/cli)
target_link_options(test_groups PRIVATE -Wl,--wrap=strcmp)

# portmajor-vlan's code for cards, which needs no BPF.
add_executable(test_card tests/unit/test_card.c plugins/vlan/card.c plugins/vlan/receive.c)
target_include_directories(test_card PRIVATE plugins/vlan)
target_link_libraries(test_card PRIVATE test_tools)
add_test(NAME unit.card COMMAND test_card)
set_tests_properties(unit.card PROPERTIES LABELS "unit;vlan" TIMEOUT 900)

# Modules of the plugin that need no OpenSM.
foreach(room planning view clock)
	add_executable(test_${room} tests/unit/test_${room}.c plugins/opensm/engine/${room}.c)
	target_include_directories(test_${room} PRIVATE plugins/opensm)
	target_link_libraries(test_${room} PRIVATE test_tools Threads::Threads)
	add_test(NAME unit.${room} COMMAND test_${room})
	set_tests_properties(unit.${room} PROPERTIES LABELS unit TIMEOUT 900)
endforeach()

# The test replaces OpenSM and its log.
add_executable(test_operator_files tests/unit/test_operator_files.c plugins/opensm/io/operator_files.c
	plugins/opensm/engine/worker.c plugins/opensm/engine/clock.c)
target_include_directories(test_operator_files PRIVATE plugins/opensm)
target_include_directories(test_operator_files SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_compile_options(test_operator_files PRIVATE -ffunction-sections)
target_link_options(test_operator_files PRIVATE -Wl,--gc-sections)
target_link_libraries(test_operator_files PRIVATE test_tools Threads::Threads)
add_test(NAME unit.operator_files COMMAND test_operator_files)
set_tests_properties(unit.operator_files PROPERTIES LABELS unit TIMEOUT 900)

# The test replaces OpenSM's log, and frees copies of its tables.
add_executable(test_engine_check tests/unit/test_engine_check.c plugins/opensm/engine/engine_check.c
	plugins/opensm/engine/worker.c plugins/opensm/engine/clock.c)
target_include_directories(test_engine_check PRIVATE plugins/opensm)
target_include_directories(test_engine_check SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_compile_options(test_engine_check PRIVATE -ffunction-sections)
target_link_options(test_engine_check PRIVATE -Wl,--gc-sections -Wl,--wrap=pm_check_pairs)
target_link_libraries(test_engine_check PRIVATE test_tools Threads::Threads)
add_test(NAME unit.engine_check COMMAND test_engine_check)
set_tests_properties(unit.engine_check PROPERTIES LABELS unit TIMEOUT 900)

# The test replaces OpenSM, and the modules that find, send and follow for the repairer.
add_executable(test_repairer tests/unit/test_repairer.c plugins/opensm/engine/repairer.c
	plugins/opensm/engine/repairer_base.c plugins/opensm/engine/repairer_view.c
	plugins/opensm/engine/repair_job.c plugins/opensm/engine/returns_job.c
	plugins/opensm/engine/throttle.c
	plugins/opensm/engine/transition_job.c
	plugins/opensm/engine/balance_job.c plugins/opensm/engine/groups_job.c
	plugins/opensm/engine/check_job.c
	plugins/opensm/engine/view.c plugins/opensm/engine/worker.c plugins/opensm/engine/clock.c)
target_include_directories(test_repairer PRIVATE plugins/opensm)
target_include_directories(test_repairer SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_compile_options(test_repairer PRIVATE -ffunction-sections)
target_link_options(test_repairer PRIVATE -Wl,--gc-sections)
target_link_libraries(test_repairer PRIVATE test_tools Threads::Threads)
if(NOT PORTMAJOR_SANITIZE)
	target_compile_options(test_repairer PRIVATE -fsanitize=thread)
	target_link_options(test_repairer PRIVATE -fsanitize=thread)
endif()
add_test(NAME unit.repairer COMMAND test_repairer)
set_tests_properties(unit.repairer PROPERTIES LABELS unit TIMEOUT 900)
add_executable(test_activity tests/unit/test_activity.c plugins/opensm/io/activity.c
	plugins/opensm/io/prometheus.c plugins/opensm/engine/clock.c)
target_include_directories(test_activity PRIVATE plugins/opensm)
target_link_libraries(test_activity PRIVATE test_tools pm_json Threads::Threads)
add_test(NAME unit.activity COMMAND test_activity)
set_tests_properties(unit.activity PROPERTIES LABELS unit TIMEOUT 900)
foreach(name events event_changes)
	add_executable(test_${name} tests/unit/test_${name}.c plugins/opensm/io/events.c
		plugins/opensm/io/event_changes.c plugins/opensm/io/event_command.c
		plugins/opensm/engine/clock.c)
	target_include_directories(test_${name} PRIVATE plugins/opensm)
	target_link_libraries(test_${name} PRIVATE test_tools pm_json Threads::Threads)
	add_test(NAME unit.${name} COMMAND test_${name})
	set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 900)
endforeach()
target_link_options(test_events PRIVATE -Wl,--wrap=clock_ms)
add_executable(test_reserve_file tests/unit/test_reserve_file.c plugins/opensm/io/reserve_file.c)
target_include_directories(test_reserve_file PRIVATE plugins/opensm)
target_link_libraries(test_reserve_file PRIVATE test_tools)
add_executable(test_mastership tests/unit/test_mastership.c plugins/opensm/io/mastership.c
	plugins/opensm/io/managers.c)
target_include_directories(test_mastership PRIVATE plugins/opensm)
target_include_directories(test_mastership SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_compile_options(test_mastership PRIVATE -ffunction-sections)
target_link_options(test_mastership PRIVATE -Wl,--gc-sections)
target_link_libraries(test_mastership PRIVATE test_tools pm_json ${OSMCOMP} Threads::Threads)
foreach(name reserve_file mastership)
	add_test(NAME unit.${name} COMMAND test_${name})
	set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 900)
endforeach()
foreach(file missing_drawn places events event_command)
	list(APPEND parts_missing_kept plugins/opensm/io/${file}.c)
endforeach()
list(APPEND parts_missing_kept plugins/opensm/engine/clock.c)
foreach(name missing_kept port_errors host_flaps)
	add_executable(test_${name} tests/unit/test_${name}.c plugins/opensm/io/${name}.c
		plugins/opensm/io/known_hosts.c ${parts_${name}})
	target_include_directories(test_${name} PRIVATE plugins/opensm)
	target_link_libraries(test_${name} PRIVATE test_tools pm_json Threads::Threads)
	add_test(NAME unit.${name} COMMAND test_${name})
	set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 900)
endforeach()

# Failing allocations: the test defines malloc, so none of its code may call the sanitizers.
add_library(memfault OBJECT tests/tools/memfault.c)
target_include_directories(memfault PUBLIC tests/tools)
target_compile_options(memfault PRIVATE -fno-builtin -fno-sanitize=all)
if(PORTMAJOR_SANITIZE MATCHES "address")
	target_compile_definitions(memfault PRIVATE MEMFAULT_ASAN)
endif()
add_executable(test_memory tests/unit/test_memory.c plugins/opensm/engine/planning.c
	plugins/opensm/engine/view.c)
target_include_directories(test_memory PRIVATE plugins/opensm)
target_link_libraries(test_memory PRIVATE memfault test_tools)
add_test(NAME unit.memory COMMAND test_memory)
# Whole commands, except for main; that of VLANs as it is without BPF.
function(add_command_test name library)
	add_executable(test_${name} tests/unit/test_${name}.c tests/unit/command_faults.c ${ARGN})
	target_link_libraries(test_${name} PRIVATE memfault pm_cli ${library} unit_cmocka)
	target_link_options(test_${name} PRIVATE -Wl,--wrap=main)
	target_compile_definitions(test_${name} PRIVATE
		PORTMAJOR="$<TARGET_FILE:portmajor_cli>")
	add_dependencies(test_${name} portmajor_cli)
	if(PORTMAJOR_SANITIZE) # otherwise forking takes long
		target_compile_definitions(test_${name} PRIVATE EVERY=31)
	endif()
	add_test(NAME unit.${name} COMMAND test_${name})
	set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 1200 COST 110)
endfunction()
add_command_test(commands pm_files $<TARGET_OBJECTS:portmajor_cli>)
add_command_test(lab_commands pm_lab $<TARGET_OBJECTS:portmajor_lab>)
file(GLOB sources CONFIGURE_DEPENDS src/vlan/cli/*.c)
add_command_test(vlan_commands pm_vlan ${sources} plugins/vlan/no_bpf.c)
target_include_directories(test_vlan_commands PRIVATE src/vlan/cli)
add_labels(lab unit.lab_commands)
add_labels(vlan unit.vlan_commands)

# Digests of the commands' output and files: tests/data/results/PRODUCT.txt.
function(add_results_test name product)
	add_executable(test_${name} tests/unit/test_results.c)
	target_link_libraries(test_${name} PRIVATE pm_base unit_cmocka)
	target_compile_definitions(test_${name} PRIVATE SOURCES="${PROJECT_SOURCE_DIR}"
		PROGRAMS="$<TARGET_FILE_DIR:portmajor_cli>"
		RESULTS="${PROJECT_SOURCE_DIR}/tests/data/results/${product}.txt")
	add_dependencies(test_${name} portmajor_cli ${ARGN})
	add_test(NAME unit.${name} COMMAND test_${name})
	set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 900)
endfunction()
add_results_test(results portmajor)
add_results_test(lab_results lab portmajor_lab)
add_results_test(vlan_results vlan portmajor_vlan)
add_labels(lab unit.lab_results)
add_labels(vlan unit.vlan_results)

# The store has OpenSM's headers; the test replaces OpenSM's log.
add_executable(test_store tests/unit/test_store.c plugins/opensm/io/store.c
	plugins/opensm/io/candidates.c plugins/opensm/engine/planning.c plugins/opensm/engine/worker.c plugins/opensm/engine/clock.c)
target_include_directories(test_store PRIVATE plugins/opensm)
target_include_directories(test_store SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_compile_options(test_store PRIVATE -ffunction-sections)
target_link_options(test_store PRIVATE -Wl,--gc-sections -Wl,--wrap=access,--wrap=flock
	-Wl,--wrap=fsync,--wrap=lstat,--wrap=mkdir,--wrap=open,--wrap=read,--wrap=rename
	-Wl,--wrap=scandir,--wrap=stat)
target_link_libraries(test_store PRIVATE memfault test_tools Threads::Threads)
add_test(NAME unit.store COMMAND test_store)
set_tests_properties(unit.memory unit.store PROPERTIES LABELS unit TIMEOUT 1200)

add_executable(test_fabric_file tests/unit/test_fabric_file.c plugins/opensm/io/fabric_file.c
	plugins/opensm/io/known_hosts.c)
target_include_directories(test_fabric_file PRIVATE plugins/opensm)
target_include_directories(test_fabric_file SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_link_libraries(test_fabric_file PRIVATE memfault test_tools pm_json Threads::Threads)
add_test(NAME unit.fabric_file COMMAND test_fabric_file)
set_tests_properties(unit.fabric_file PROPERTIES LABELS unit TIMEOUT 900)
target_link_libraries(test_events PRIVATE memfault)

# The whole plugin, with stubs in OpenSM's place and with OpenSM's own containers.
foreach(part plugin repair transition mcast)
	add_executable(test_${part} tests/unit/test_${part}.c tests/unit/subnet.c
		tests/unit/subnet_mcast.c
		$<TARGET_OBJECTS:portmajor_plugin>)
	target_include_directories(test_${part} PRIVATE plugins/opensm)
	target_include_directories(test_${part} SYSTEM PRIVATE ${OPENSM_INCLUDE})
	target_compile_options(test_${part} PRIVATE -ffunction-sections)
	target_link_options(test_${part} PRIVATE -Wl,--gc-sections
		-Wl,--wrap=fsync,--wrap=clock_ms,--wrap=clock_wait_until,--wrap=clock_wait_briefly
		-Wl,--wrap=worker_start,--wrap=worker_poke,--wrap=worker_end,--wrap=worker_stop
		-Wl,--wrap=worker_free,--wrap=worker_enter,--wrap=worker_leave
		-Wl,--wrap=control_start,--wrap=control_stop
		-Wl,--wrap=control_free,--wrap=control_listen,--wrap=control_take
		-Wl,--wrap=control_publish)
	target_link_libraries(test_${part} PRIVATE memfault test_tools ${OSMCOMP} ${EVENT}
		Threads::Threads)
endforeach()
if(PORTMAJOR_SANITIZE)
	target_compile_definitions(test_plugin PRIVATE EVERY=491)
	target_compile_definitions(test_mcast PRIVATE EVERY=31)
endif()
add_test(NAME unit.plugin COMMAND test_plugin)
add_test(NAME unit.repair COMMAND test_repair)
add_test(NAME unit.transition COMMAND test_transition)
add_test(NAME unit.mcast COMMAND test_mcast)
set_tests_properties(unit.plugin unit.repair unit.transition unit.mcast PROPERTIES LABELS unit
	TIMEOUT 900)
set_tests_properties(unit.plugin PROPERTIES COST 140)
set_tests_properties(unit.repair unit.mcast unit.transition PROPERTIES COST 60)

# Threads that wait for files, checked for races.
add_executable(test_worker tests/unit/test_worker.c plugins/opensm/engine/worker.c
	plugins/opensm/engine/clock.c)
target_include_directories(test_worker PRIVATE plugins/opensm)
target_link_libraries(test_worker PRIVATE unit_cmocka m Threads::Threads)
if(NOT PORTMAJOR_SANITIZE)
	target_compile_options(test_worker PRIVATE -fsanitize=thread)
	target_link_options(test_worker PRIVATE -fsanitize=thread)
endif()
add_test(NAME unit.worker COMMAND test_worker)
set_tests_properties(unit.worker PROPERTIES LABELS unit TIMEOUT 900)

# The plugin's reads of OpenSM's nodes and ports.
add_executable(test_subnet_cache tests/unit/test_subnet_cache.c tests/unit/recipe.c
	plugins/opensm/osm/subnet_cache.c plugins/opensm/osm/snapshot.c)
target_include_directories(test_subnet_cache PRIVATE plugins/opensm)
target_include_directories(test_subnet_cache SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_compile_options(test_subnet_cache PRIVATE -ffunction-sections)
target_link_options(test_subnet_cache PRIVATE -Wl,--gc-sections)
target_link_libraries(test_subnet_cache PRIVATE test_tools ${OSMCOMP})
add_test(NAME unit.subnet_cache COMMAND test_subnet_cache)
set_tests_properties(unit.subnet_cache PROPERTIES LABELS unit TIMEOUT 900)

add_executable(test_lft_records tests/unit/test_lft_records.c tests/unit/recipe.c
	plugins/opensm/osm/lft_records.c plugins/opensm/osm/drained_tables.c)
target_include_directories(test_lft_records PRIVATE plugins/opensm)
target_include_directories(test_lft_records SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_compile_options(test_lft_records PRIVATE -ffunction-sections)
target_link_options(test_lft_records PRIVATE -Wl,--gc-sections)
target_link_libraries(test_lft_records PRIVATE test_tools ${OSMCOMP})
add_test(NAME unit.lft_records COMMAND test_lft_records)
set_tests_properties(unit.lft_records PROPERTIES LABELS unit TIMEOUT 900)

add_executable(test_returns tests/unit/test_returns.c plugins/opensm/engine/returns.c
	plugins/opensm/engine/returns_base.c plugins/opensm/engine/returns_record.c
	plugins/opensm/engine/clock.c)
target_include_directories(test_returns PRIVATE plugins/opensm)
target_include_directories(test_returns SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_compile_options(test_returns PRIVATE -ffunction-sections)
target_link_options(test_returns PRIVATE -Wl,--gc-sections)
target_link_libraries(test_returns PRIVATE test_tools ${OSMCOMP} Threads::Threads)
add_test(NAME unit.returns COMMAND test_returns)
set_tests_properties(unit.returns PROPERTIES LABELS unit TIMEOUT 900)

add_executable(test_returns_serve tests/unit/test_returns_serve.c
	plugins/opensm/engine/returns_serve.c plugins/opensm/engine/returns_base.c
	plugins/opensm/engine/clock.c)
target_include_directories(test_returns_serve PRIVATE plugins/opensm)
target_include_directories(test_returns_serve SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_compile_options(test_returns_serve PRIVATE -ffunction-sections)
target_link_options(test_returns_serve PRIVATE -Wl,--gc-sections)
target_link_libraries(test_returns_serve PRIVATE test_tools ${OSMCOMP} Threads::Threads)
add_test(NAME unit.returns_serve COMMAND test_returns_serve)
set_tests_properties(unit.returns_serve PROPERTIES LABELS unit TIMEOUT 900)

add_executable(test_throttle tests/unit/test_throttle.c plugins/opensm/engine/throttle.c)
target_include_directories(test_throttle PRIVATE plugins/opensm)
target_link_libraries(test_throttle PRIVATE test_tools Threads::Threads m)
add_test(NAME unit.throttle COMMAND test_throttle)
set_tests_properties(unit.throttle PROPERTIES LABELS unit TIMEOUT 900)

# With OpenSM's headers, stubs in OpenSM's place, and threads.
add_executable(test_smp tests/unit/test_smp.c tests/unit/recipe.c plugins/opensm/osm/smp.c
	plugins/opensm/engine/clock.c)
target_include_directories(test_smp PRIVATE plugins/opensm)
target_include_directories(test_smp SYSTEM PRIVATE ${OPENSM_INCLUDE})
target_link_libraries(test_smp PRIVATE ${OSMCOMP} portmajor_core unit_cmocka Threads::Threads)
# Clang keeps inline functions of these headers that nobody calls; what they call is not there.
target_compile_options(test_smp PRIVATE -ffunction-sections)
target_link_options(test_smp PRIVATE -Wl,--gc-sections)
if(NOT PORTMAJOR_SANITIZE)
	target_compile_options(test_smp PRIVATE -fsanitize=thread)
	target_link_options(test_smp PRIVATE -fsanitize=thread)
endif()
add_test(NAME unit.smp COMMAND test_smp)
set_tests_properties(unit.smp PROPERTIES LABELS unit TIMEOUT 900)

# A test without an entry here would never be built.
file(GLOB sources CONFIGURE_DEPENDS tests/unit/test_*.c)
foreach(source ${sources})
	get_filename_component(test ${source} NAME_WE)
	if(NOT TARGET ${test})
		message(FATAL_ERROR "${source} is not built: see tests/tests.cmake")
	endif()
endforeach()

# Benchmarks: always built; ctest checks only ratios.
foreach(bench tables cutoff traffic order multicast repair)
	add_executable(bench_${bench} tests/bench/bench_${bench}.c tests/bench/bench.c)
	target_link_libraries(bench_${bench} PRIVATE portmajor_core)
	add_test(NAME bench.${bench} COMMAND bench_${bench})
	set_tests_properties(bench.${bench} PROPERTIES LABELS slow TIMEOUT 900)
endforeach()
set_tests_properties(bench.tables bench.cutoff bench.traffic bench.repair PROPERTIES RUN_SERIAL ON)
set_tests_properties(bench.order bench.multicast PROPERTIES LABELS unit COST 30)

# Fuzz targets: ctest replays the corpus; with PORTMAJOR_FUZZ, libFuzzer does, too.
foreach(input netlist planfile config roles smconf sweep lfts requests sets hosts
		groups goal mfts)
	file(GLOB corpus CONFIGURE_DEPENDS tests/fuzz/corpus/${input}/*)
	add_executable(replay_${input} tests/fuzz/fuzz_${input}.c tests/fuzz/replay_main.c)
	target_link_libraries(replay_${input} PRIVATE portmajor_core)
	add_test(NAME fuzz.${input} COMMAND replay_${input} ${corpus})
	set_tests_properties(fuzz.${input} PROPERTIES LABELS unit TIMEOUT 900)
	if(PORTMAJOR_FUZZ)
		add_executable(fuzz_${input} tests/fuzz/fuzz_${input}.c)
		target_compile_options(fuzz_${input} PRIVATE -fsanitize=fuzzer)
		target_link_options(fuzz_${input} PRIVATE -fsanitize=fuzzer)
		target_link_libraries(fuzz_${input} PRIVATE portmajor_core)
	endif()
endforeach()
add_labels(lab bench.cutoff bench.traffic fuzz.goal fuzz.sets)
add_labels(vlan fuzz.hosts)
# The readers of groups and of shards are parts of the command.
foreach(target replay_groups fuzz_groups)
	if(TARGET ${target})
		target_include_directories(${target} PRIVATE src/cli)
		target_sources(${target} PRIVATE src/cli/cmd/groups.c src/cli/output.c)
	endif()
endforeach()
foreach(target replay_sweep fuzz_sweep)
	if(TARGET ${target})
		target_include_directories(${target} PRIVATE src/cli)
		target_sources(${target} PRIVATE src/cli/cmd/summary_output.c src/cli/json.c src/cli/text.c
			src/cli/output.c)
		target_link_libraries(${target} PRIVATE pm_json)
	endif()
endforeach()
