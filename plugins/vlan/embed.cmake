# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# cmake -DOBJECT=FILE -DOUTPUT=FILE.c -P embed.cmake: an object file as an array of bytes,
# so that the loader is one file. Aligned as ELF requires.
file(READ ${OBJECT} bytes HEX)
string(LENGTH "${bytes}" length)
math(EXPR length "${length} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"program.h\"
const unsigned int vlan_object_size = ${length};
const unsigned char vlan_object[] __attribute__((aligned(8))) = {${bytes}};
")
