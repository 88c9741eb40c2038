#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compiler may drop calls of a function that only fetches lines ahead, and no result tells of it:
# the object file must have an instruction for each such line of the source.
# usage: fetches.sh OBJ
status=0
for name in mesh_cycle mesh_flow_run; do
    object=$1/src/mesh/$name.o
    source=$(grep -c '__builtin_prefetch(' src/mesh/$name.c)
    case $(objdump -f "$object" 2>/dev/null) in
    *x86-64*) instruction=prefetch ;;
    *aarch64*) instruction=prfm ;;
    *) echo "fetches: skipped: no objdump for $object"; continue ;;
    esac
    n=$(objdump -d "$object" | grep -c "	$instruction")
    [ "$n" -ge "$source" ] && continue
    echo "$object: $n instructions that fetch ahead, $source in the source"
    status=1
done
exit $status
