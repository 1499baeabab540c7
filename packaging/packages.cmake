# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Installed files, and packages of them: `cmake --install`, `cpack -G DEB`; portmajor.spec
# calls the former. docs/packages.md lists the files. The plugin and its command are one
# package, portmajor-lab (component lab) and portmajor-vlan (component vlan) others, which
# need nothing of OpenSM and nothing of each other.

# OpenSM loads only plugins that were built for its own version.
file(STRINGS ${OPENSM_INCLUDE}/opensm/osm_version.h opensm_version REGEX "define OSM_VERSION ")
string(REGEX REPLACE ".*\"OpenSM ([^\"]*)\".*" "\\1" opensm_version "${opensm_version}")
string(REGEX REPLACE "[^A-Za-z0-9.+~]" "." opensm_version "${opensm_version}")
set(PORTMAJOR_CONTACT "The portmajor authors <portmajor@invalid.invalid>" CACHE STRING
	"Whom packages name as their maintainer")

# OpenSM opens libportmajor.so as ld.so(8) finds it.
install(TARGETS portmajor_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS portmajor_plugin DESTINATION ${CMAKE_INSTALL_LIBDIR})

# Completion is one file for all commands; bash looks for it by the name of each.
set(completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES scripts/completion/portmajor DESTINATION ${completions})
foreach(product lab vlan)
	install(TARGETS portmajor_${product} DESTINATION ${CMAKE_INSTALL_BINDIR}
		COMPONENT ${product})
	install(FILES scripts/completion/portmajor DESTINATION ${completions}
		RENAME portmajor-${product} COMPONENT ${product})
	file(GLOB documents CONFIGURE_DEPENDS docs/${product}*.md)
	install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/portmajor-${product}
		COMPONENT ${product})
endforeach()

# The report finds its parts beside itself, or in ../share/portmajor.
install(PROGRAMS scripts/portmajor-report DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY scripts/portmajor_report DESTINATION ${CMAKE_INSTALL_DATADIR}/portmajor
	PATTERN __pycache__ EXCLUDE)

# The recordings for `portmajor-lab job`, which finds them there.
install(DIRECTORY recordings DESTINATION ${CMAKE_INSTALL_DATADIR}/portmajor-lab
	COMPONENT lab)

install(FILES monitoring/alerts.yml monitoring/dashboard.json
	DESTINATION ${CMAKE_INSTALL_DATADIR}/portmajor)

file(GLOB documents CONFIGURE_DEPENDS docs/*.md)
list(FILTER documents EXCLUDE REGEX "/(lab|vlan)[^/]*$")
install(FILES ${documents} NEWS README.md
	DESTINATION ${CMAKE_INSTALL_DOCDIR})
# add_changelog(PACKAGE VERSION [COMPONENT]): as changelog.gz, and copyright beside it.
function(add_changelog package version)
	set(changelog packaging/${package}/changelog)
	configure_file(packaging/changelog.in ${changelog} @ONLY)
	add_custom_command(OUTPUT ${changelog}.gz COMMAND gzip -9nkf ${changelog}
		DEPENDS ${CMAKE_BINARY_DIR}/${changelog} VERBATIM)
	add_custom_target(changelog_${package} ALL DEPENDS ${changelog}.gz)
	install(FILES ${CMAKE_BINARY_DIR}/${changelog}.gz packaging/copyright
		DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} ${ARGN})
endfunction()
add_changelog(portmajor ${PROJECT_VERSION}+opensm${opensm_version})
add_changelog(portmajor-lab ${PROJECT_VERSION} COMPONENT lab)
add_changelog(portmajor-vlan ${PROJECT_VERSION} COMPONENT vlan)
install(FILES packaging/lintian-overrides
	DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME portmajor)

# The drop-in of OpenSM's service is installed elsewhere: the operator links it.
set(configuration packaging/opensm.conf packaging/portmajor.conf)
install(FILES packaging/opensm@.service.d/portmajor.conf
	DESTINATION ${CMAKE_INSTALL_DATADIR}/portmajor/opensm@.service.d)
install(FILES ${configuration} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
# Off until the timer is enabled for another machine. systemd looks below /usr and /usr/local.
install(FILES packaging/plans/portmajor-plans@.service packaging/plans/portmajor-plans@.timer
	DESTINATION lib/systemd/system)
# Only in packages: package managers keep a file that was changed.
install(FILES ${configuration} DESTINATION /etc/portmajor
	COMPONENT configuration EXCLUDE_FROM_ALL)

if(PORTMAJOR_VLAN)
	# systemd searches below /usr and /usr/local.
	install(FILES packaging/vlan/portmajor-vlan@.service
		DESTINATION lib/systemd/system COMPONENT vlan)
	install(FILES packaging/vlan/lintian-overrides
		DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME portmajor-vlan
		COMPONENT vlan)
endif()

add_custom_target(uninstall COMMAND ${CMAKE_COMMAND}
	-P ${CMAKE_SOURCE_DIR}/packaging/uninstall.cmake VERBATIM)

# The variables named CPACK_ at this point; CPack sets more, which end here.
function(write_cpack_config)
	include(CPack)
endfunction()

set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};portmajor;Unspecified;/"
	"${CMAKE_BINARY_DIR};portmajor;configuration;/")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
	GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "${PORTMAJOR_CONTACT}")
set(CPACK_DEBIAN_PACKAGE_NAME portmajor)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION}+opensm${opensm_version})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
# Any build of that version, and none between it and the next.
set(CPACK_DEBIAN_PACKAGE_DEPENDS
	"opensm (>= ${opensm_version}), opensm (<< ${opensm_version}+)")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3, python3-jinja2, infiniband-diags")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "portmajor-lab, rsync, openssh-client, psmisc")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A plugin for OpenSM ${opensm_version} that routes InfiniBand fat trees. LIDs are
given to ports by the part of the tree that their traffic uses, so that a
failure changes few blocks of the linear forwarding tables, and these are
sent before OpenSM has discovered the fabric anew.
.
The command portmajor shows the plan for a fabric and what a failure would
cost, checks tables, takes cables and switches out for service, and tells
whether all is as it should be.
.
Nothing routes with it until OpenSM's configuration says so, or the drop-in
for its service that is in /usr/share/portmajor is linked.")
set(control conffiles triggers postinst prerm postrm)
list(TRANSFORM control PREPEND ${CMAKE_SOURCE_DIR}/packaging/)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${control})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
write_cpack_config()

# The other two: `cpack -G DEB --config CPackLabConfig.cmake`, CPackVlanConfig.cmake. They
# are the same for each version of OpenSM.
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_DEPENDS "")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "")

set(CPACK_OUTPUT_CONFIG_FILE ${CMAKE_BINARY_DIR}/CPackLabConfig.cmake)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};portmajor-lab;lab;/")
set(CPACK_DEBIAN_PACKAGE_NAME portmajor-lab)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
	"Simulated traffic on fat trees, whole and through failures")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"The command portmajor-lab tells what jobs feel of a fabric, its tables and
its failures: pairs of hosts that are cut off, rates and latencies packet by
packet or flit by flit, and the time of collective operations and jobs, with
portmajor's tables and with those of OpenSM's own engines.
.
It reads a netlist, on any machine, and needs neither OpenSM nor portmajor.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "")
write_cpack_config()

set(CPACK_OUTPUT_CONFIG_FILE ${CMAKE_BINARY_DIR}/CPackVlanConfig.cmake)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};portmajor-vlan;vlan;/")
set(CPACK_DEBIAN_PACKAGE_NAME portmajor-vlan)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
	"Hosts' frames in VLANs that use all paths of an Ethernet fat tree")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"The command portmajor-vlan plans a VLAN for each path of an Ethernet fat tree,
and writes what switches and hosts are to be told.
.
On hosts it loads a program for tc (BPF): frames that a host sends get the tag
of the VLAN that the pair of addresses shares by a table, and tags are taken
off frames that it receives. The host has one device with one address as
before, and switches need no more than tagged VLANs. The table is replaced at
once while traffic runs.")
if(PORTMAJOR_VLAN) # of the service
	set(control postinst postrm)
	list(TRANSFORM control PREPEND ${CMAKE_SOURCE_DIR}/packaging/vlan/)
	set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${control})
endif()
write_cpack_config()
