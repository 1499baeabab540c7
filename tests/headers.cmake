# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Every header compiles alone, with what its folder sees and nothing else: target `headers`,
# which is not a part of `all`.
add_custom_target(headers)
function(add_headers target library)
	file(GLOB headers CONFIGURE_DEPENDS ${ARGN})
	set(sources)
	foreach(header ${headers})
		file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${header})
		set(source ${CMAKE_BINARY_DIR}/headers/${name}.c)
		file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
		list(APPEND sources ${source})
	endforeach()
	add_library(${target} OBJECT EXCLUDE_FROM_ALL ${sources})
	target_link_libraries(${target} PRIVATE ${library})
	add_dependencies(headers ${target})
endfunction()

foreach(folder ${core})
	file(GLOB headers CONFIGURE_DEPENDS include/portmajor/${folder}/*.h src/${folder}/*.h
		src/${folder}/*/*.h)
	list(FILTER headers EXCLUDE REGEX "/cli/") # of commands, below
	add_headers(headers_${folder} pm_${folder} ${headers})
endforeach()
add_headers(headers_shared_cli pm_cli src/cli/*.h)
add_headers(headers_cli portmajor_core src/cli/cmd/*.h src/cli/export/*.h
	src/lab/cli/*.h src/vlan/cli/*.h)
target_include_directories(headers_cli PRIVATE src/cli src/cli/cmd src/cli/export
	src/lab/cli src/vlan/cli)
add_headers(headers_opensm portmajor_core plugins/opensm/*/*.h)
target_include_directories(headers_opensm PRIVATE plugins/opensm)
target_include_directories(headers_opensm SYSTEM PRIVATE ${OPENSM_INCLUDE})
if(PORTMAJOR_VLAN)
	add_headers(headers_vlan_plugin portmajor_core plugins/vlan/*.h)
	target_include_directories(headers_vlan_plugin SYSTEM PRIVATE ${LIBBPF_INCLUDE})
endif()
add_headers(headers_tests test_tools tests/*/*.h)
target_include_directories(headers_tests PRIVATE plugins/opensm)
target_include_directories(headers_tests SYSTEM PRIVATE ${OPENSM_INCLUDE})
