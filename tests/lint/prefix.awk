# SPDX-License-Identifier: Apache-2.0
# Every symbol that leaves a file starts with the name of its module (base: wsc_).
$1 == "D" && $2 ~ /^src\// && $3 != "main" && $3 !~ /^__(asan|odr|sanitizer|gcov)/ {
    m = module_of($2)
    if (!has_prefix($3, m)) finding($3, m, $2 ": " $3 " does not start with " prefix_of(m) "_")
}
