# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# portmajor-vlan on hosts, if there are clang and libbpf.
find_program(BPF_CLANG NAMES clang)
find_library(LIBBPF bpf)
find_path(LIBBPF_INCLUDE bpf/libbpf_version.h)
set(version "#define LIBBPF_MAJOR_VERSION 0")
if(LIBBPF_INCLUDE)
	file(STRINGS ${LIBBPF_INCLUDE}/bpf/libbpf_version.h version
		REGEX "define LIBBPF_MAJOR_VERSION")
endif()
# Before 1.0 functions do not return -errno.
if(BPF_CLANG AND LIBBPF AND version MATCHES "VERSION [1-9]")
	set(PORTMAJOR_VLAN ON)
else()
	set(PORTMAJOR_VLAN OFF)
	message(STATUS "no clang or no libbpf 1.0: portmajor-vlan plans, and loads nothing "
		"(apt-get install clang libbpf-dev)")
	target_sources(portmajor_vlan PRIVATE plugins/vlan/no_bpf.c)
	return()
endif()

# The kernel's headers that differ by processor are where the compiler would search.
set(bpf_flags -target bpf -O2 -g -Wall -Wextra -Wshadow -Wconversion -Werror
	-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -isystem ${LIBBPF_INCLUDE}
	-idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})

# add_bpf_object(OUTPUT SOURCE): an object file for the kernel.
function(add_bpf_object output source)
	add_custom_command(OUTPUT ${output}
		COMMAND ${BPF_CLANG} ${bpf_flags} -c ${CMAKE_SOURCE_DIR}/${source} -o ${output}
		DEPENDS ${source} plugins/vlan/vlan.bpf.c plugins/vlan/vlan_maps.h VERBATIM)
endfunction()

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/vlan)
set(vlan_object ${CMAKE_BINARY_DIR}/vlan/vlan.bpf.o)
add_bpf_object(${vlan_object} plugins/vlan/vlan.bpf.c)
add_custom_command(OUTPUT vlan/object.c
	COMMAND ${CMAKE_COMMAND} -DOBJECT=${vlan_object} -DOUTPUT=vlan/object.c
		-P ${CMAKE_SOURCE_DIR}/plugins/vlan/embed.cmake
	DEPENDS ${vlan_object} plugins/vlan/embed.cmake VERBATIM)

file(GLOB sources CONFIGURE_DEPENDS plugins/vlan/*.c)
list(FILTER sources EXCLUDE REGEX "[.]bpf[.]c$|no_bpf[.]c$")
target_sources(portmajor_vlan PRIVATE ${sources} ${CMAKE_BINARY_DIR}/vlan/object.c)
target_include_directories(portmajor_vlan PRIVATE plugins/vlan)
target_include_directories(portmajor_vlan SYSTEM PRIVATE ${LIBBPF_INCLUDE})
target_link_libraries(portmajor_vlan PRIVATE ${LIBBPF})
