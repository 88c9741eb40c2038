#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documents as a searchable static site, with the reference of the C interface and of the
# internal headers: mkdocs (mkdocs.yml beside this) for the texts, doxygen for the headers, both
# from Debian.  Search needs a server, such as `python3 -m http.server -d build/site`; every page is
# readable without.  Called by `make site` at the top of the tree.
# usage: mpi_launch/packaging/site.sh FOLDER
set -eu
site=$(mkdir -p "$1" && cd "$1" && pwd)
for tool in mkdocs doxygen python3; do
    command -v $tool >/dev/null || { echo "site: $tool is not installed" >&2 && exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The texts as they lie in the tree, with what they name: links between them stay as they are.
texts=$work/docs
mkdir -p "$texts"
cp -r README.md CONTRIBUTING.md LICENSE docs configs "$texts/"
mkdir -p "$texts/include"
cp -r include/. "$texts/include/"
sed "s|^docs_dir:.*|docs_dir: $texts|;s|^site_dir:.*|site_dir: $site|" mpi_launch/packaging/site/mkdocs.yml >"$work/mkdocs.yml"
mkdocs build --quiet --strict --clean --config-file "$work/mkdocs.yml"
rm -f "$site/404.html" # its links are those of a server's top

# libwsc.h for users, include/wsc for those who change the program.
doxygen_of() { # FOLDER NAME INPUT
    { cat docs/Doxyfile; printf '%s\n' "OUTPUT_DIRECTORY = $work" "HTML_OUTPUT = $1" "INPUT = $3" \
        "PROJECT_NAME = \"$2\"" 'SEARCHENGINE = YES' 'HTML_TIMESTAMP = NO'; } >"$work/Doxyfile"
    doxygen -q "$work/Doxyfile"
    mkdir -p "$site/reference"
    rm -rf "$site/reference/$1"
    mv "$work/$1" "$site/reference/"
}
# The entries of the navigation that mkdocs does not make, as every page sees them.
find "$site" -name '*.html' -not -path '*/reference/*' | while IFS= read -r page; do
    up=$(echo "${page#"$site"/}" | sed 's|[^/]*$||;s|[^/]*/|../|g')
    sed -i "s|href=\"/reference/|href=\"${up}reference/|g" "$page"
done
doxygen_of libwsc 'wsc: C interface' include/libwsc.h
doxygen_of internal 'wsc: internal headers' include/wsc
echo "$site/index.html"
