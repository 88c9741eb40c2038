#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compiler may drop calls of a function that only fetches lines ahead, and no result tells of it:
# the object file must have an instruction for each such line of the source.
# usage: fetches.sh OBJ
object=$1/src/mesh/mesh_cycle.o
source=$(grep -c '__builtin_prefetch(' src/mesh/mesh_cycle.c)
case $(objdump -f "$object" 2>/dev/null) in
*x86-64*) instruction=prefetch ;;
*aarch64*) instruction=prfm ;;
*) echo "fetches: skipped: no objdump for $object"; exit 0 ;;
esac
n=$(objdump -d "$object" | grep -c "	$instruction")
[ "$n" -ge "$source" ] && exit 0
echo "$object: $n instructions that fetch ahead, $source in the source"
exit 1
