# wsc: an emulator of a wafer-scale cluster.  `make help` lists the targets.
VARIANT ?= release
BUILD   ?= build/$(VARIANT)
MPICC   ?= mpicc
CC      := $(MPICC)
# What was found on this host; each may be given instead (`make config` shows them).
HDF5    := $(or $(HDF5),$(shell sh mpi_launch/packaging/detect.sh hdf5 '$(CC)'))
ONEDNN  := $(or $(ONEDNN),$(shell sh mpi_launch/packaging/detect.sh onednn '$(CC)'))
PKGS    := $(if $(findstring h5pcc,$(HDF5)),,$(HDF5)) yaml-0.1 jansson libxxhash zlib libzstd libdeflate liblz4
h5pcc   := $(if $(findstring h5pcc,$(HDF5)),$(shell $(HDF5) -show))
hdf5.h  := $(filter -I% -D%,$(h5pcc))
hdf5.so := $(filter -L% -Wl%,$(h5pcc)) $(if $(h5pcc),-lhdf5)
MODULES := base conf vtime num out hw mesh store zoo comm model data convert cycles host programs stream kernels memoryx swarmx wafer cluster job timeline scaling validation law report libwsc app
NPS     ?= 1 2 3 5 8
JOBS    ?= $(shell nproc)
PREFIX  ?= /usr/local
LIBDIR  ?= lib
MAKEFLAGS += --no-print-directory

Q   := $(if $(V),,@)
say  = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')
obj  = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

# libFuzzer is clang's, and so is an OpenMP that ThreadSanitizer can look into.
CLANG := $(filter fuzz tsan,$(VARIANT))
ifneq ($(CLANG),)
  export OMPI_CC := clang
endif
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wundef -Wvla -Wcast-align -Wwrite-strings -Wpointer-arith -Wswitch-enum -Wformat=2 \
        $(if $(CLANG),-Wno-gnu-zero-variadic-macro-arguments)
# Nobody reads errno of sqrt() and its like, which would keep their loops scalar; no value changes.
FP   := -ffp-contract=off -fno-math-errno
# Files and other users are not trusted (docs/SECURITY.md).
HARD := -fstack-protector-strong -fPIE
ARCH ?= $(if $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null)),x86-64-v3)
OPT.release := -O2 -D_FORTIFY_SOURCE=2
OPT.debug   := -Og -DWSC_DEBUG
OPT.asan    := -O1 -DWSC_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT.cov     := -O0 --coverage
OPT.fuzz    := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
OPT.tsan    := -O1 -fsanitize=thread -DTEST_SECONDS=600
OPT.analyze := -O1 -fanalyzer
OPT.shared  := -O2 -D_FORTIFY_SOURCE=2 -fPIC -fno-semantic-interposition -fvisibility=hidden
ifeq ($(OPT.$(VARIANT)),)
  $(error VARIANT=$(VARIANT): choose release, shared, debug, asan, tsan, analyze, cov or fuzz)
endif
# HDF5 1.12 renamed types and functions; the interface of 1.10 is in every later version.
CPPFLAGS += -Iinclude -I$(BUILD)/gen -D_GNU_SOURCE -DH5_USE_110_API $(hdf5.h) $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
CFLAGS   += -std=c17 -g -fopenmp $(WARN) $(FP) $(HARD) $(OPT.$(VARIANT)) $(if $(WERROR),-Werror)
LDFLAGS  += -pie -Wl,-z,relro,-z,now,-z,noexecstack
products := $(if $(filter yes,$(ONEDNN)),-ldnnl)
LDLIBS   += $(hdf5.so) $(shell pkg-config --libs $(PKGS) 2>/dev/null) $(products) -lm

lib.c   := $(filter-out $(if $(products),%/library_plain.c,%/library_onednn.c),$(foreach m,$(filter-out app,$(MODULES)),$(sort $(wildcard src/$(m)/*.c))))
app.c   := $(if $(filter app,$(MODULES)),$(sort $(wildcard src/app/*.c)))
test.c  := $(filter-out $(if $(filter job,$(MODULES)),,%/small_run.c %/random_case.c) $(if $(filter zoo,$(MODULES)),,%/params_case.c),$(sort $(wildcard tests/support/*.c)))
unit.c  := tests/unit/unit_main.c $(foreach m,$(MODULES),$(sort $(wildcard tests/unit/$(m)/*.c)))
targets := $(sort $(wildcard tests/fuzz/targets*.c))
unit.c  += $(targets) tests/fuzz/test_replay.c
fuzz.c  := $(lib.c) $(targets) tests/fuzz/libfuzzer.c
mpi.c   := $(sort $(wildcard tests/mpi/*.c))
prog.c  := $(sort $(wildcard tests/program/*.c))
bench.c := $(sort $(wildcard benchmarks/*.c))
benches := $(bench.c:benchmarks/%.c=$(BUILD)/benchmarks/%)
lib     := $(BUILD)/libwsc.a
sources  = $(shell find src include tests benchmarks -name '*.[ch]')

# Vector code: wide registers and -O3 where the loops are, never -ffast-math.
# Loops of the values exist for several vector units besides, chosen at the start (NUM_CLONES).
clones := $(if $(filter x86-64 x86-64-v2 x86-64-v3,$(ARCH)),-DWSC_CLONES)
$(call obj,$(wildcard src/num/*.c src/mesh/*.c src/host/*.c src/programs/*.c src/base/rng.c src/memoryx/memoryx_init.c src/memoryx/memoryx_finite.c src/memoryx/memoryx_steps.c src/store/sample_writer.c src/data/corpus.c)): CFLAGS += $(if $(filter release shared,$(VARIANT)),-O3 $(ARCH:%=-march=%) $(clones))

MPIRUN   = $(shell sh mpi_launch/packaging/detect.sh mpirun '$(CC)')
SAN.asan = ASAN_OPTIONS=fast_unwind_on_malloc=0:detect_stack_use_after_return=0 \
           LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lint/lsan.supp:print_suppressions=0
# Archer reports to ThreadSanitizer what OpenMP orders; libraries without its calls are left out.
archer   = $(dir $(shell clang -print-resource-dir 2>/dev/null))../libarcher.so
SAN.tsan = OMP_TOOL_LIBRARIES=$(archer) TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1:die_after_fork=0
THREADED := num_ comm host. dropout mesh_threads mesh_watch mesh_batch mesh_flow_cross mesh_share memoryx_optimizers stream_sums run_invariants sparse_runs scaling
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export OMPI_MCA_rmaps_base_oversubscribe := 1
# The same for Open MPI 5.
export PRTE_MCA_rmaps_default_mapping_policy := :oversubscribe
export OMPI_MCA_mpi_yield_when_idle := 1
export OMPI_MCA_orte_execute_quiet := 1
# Idle worker threads sleep: on a shared machine spinning ones take the others' processor.
export OMP_WAIT_POLICY := passive

## all: build the program, build/wsc (default)
all: build/wsc
	$(if $(products),,@echo '  NOTE    no oneDNN: plain products, slower; losses have other last bits')
## config: what the build uses, with the variables that choose something else; ends with 1 when something is missing
config:
	$(Q)sh mpi_launch/packaging/detect.sh summary '$(CC)' '$(HDF5)' '$(ONEDNN)' '$(ARCH)' $(filter-out $(HDF5),$(PKGS))

build/wsc: $(BUILD)/bin/wsc
	$(Q)ln -sf $(BUILD:build/%=%)/bin/wsc $@
$(BUILD)/bin/wsc: $(call obj,$(app.c)) $(lib)
$(BUILD)/tests/unit: $(call obj,$(unit.c) $(test.c) $(filter-out %/main.c,$(app.c))) $(lib)
$(BUILD)/tests/mpi: $(call obj,$(mpi.c) $(test.c)) $(lib)
$(BUILD)/tests/program: $(call obj,$(prog.c) $(test.c)) $(lib)
$(benches): $(BUILD)/benchmarks/%: $(BUILD)/obj/benchmarks/%.o $(lib)
$(BUILD)/bin/wsc $(BUILD)/tests/unit $(BUILD)/tests/mpi $(BUILD)/tests/program $(benches):
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/tests/unit $(BUILD)/tests/mpi $(BUILD)/tests/program: LDLIBS += $(shell pkg-config --libs cunit 2>/dev/null)
# Memory that runs out: tests/unit/base/scarce.h.  A host of many processors: test_comm_processors.c.
$(BUILD)/tests/unit: LDFLAGS += -Wl,--wrap=calloc,--wrap=malloc,--wrap=sched_getaffinity

$(lib): $(call obj,$(lib.c))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) crD $@ $^
$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The built-in cluster is the shipped file.
$(call obj,src/hw/machine_builtin.c): configs/cluster/cs2.yaml
# So are the style sheet and the script of a page.
$(call obj,src/report/html_assets.c): src/report/page.css src/report/page.js
# Version and revision, where they are printed; without a repository of this tree those that `make
# dist` wrote down.  A new commit rebuilds that one file.
archived = cut -d' ' -f$(1) mpi_launch/packaging/revision | grep -v '[$$%]'
in_git := test -e .git && git
revision := $(shell $(in_git) describe --always --dirty 2>/dev/null || $(call archived,1) || echo unknown)
revision_date := $(shell $(in_git) log -1 --format=%cs 2>/dev/null || $(call archived,2) || date -r Makefile +%F)
$(call obj,src/out/out_file.c): CPPFLAGS += \
  -DWSC_REVISION='"$(revision)"' -DWSC_REVISION_DATE='"$(revision_date)"'
$(call obj,src/out/out_file.c): $(BUILD)/revision
$(BUILD)/revision: FORCE
	@mkdir -p $(@D); echo '$(revision) $(revision_date)' > $@.$$$$; \
	cmp -s $@.$$$$ $@ && rm $@.$$$$ || mv $@.$$$$ $@

# What the vector code is built for, which wsc doctor compares with the processor.
$(call obj,src/app/doctor_host.c): CPPFLAGS += -DWSC_ARCH='"$(ARCH)"'

# Objects depend on the flags too: a changed flag rebuilds, an unchanged one does not.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(ARCH) $(HDF5) $(products)' > $@.$$$$; \
	cmp -s $@.$$$$ $@ && rm $@.$$$$ || mv $@.$$$$ $@
-include $(wildcard $(BUILD)/obj/*/*.d $(BUILD)/obj/*/*/*.d $(BUILD)/obj/*/*/*/*.d)

## library: the C interface <libwsc.h> as build/shared/libwsc.so.1, for C and Python
library:
	$(Q)$(MAKE) VARIANT=shared build/shared/libwsc.so.1
build/shared/libwsc.so.1: $(call obj,src/libwsc/libwsc.c) $(lib) src/libwsc/libwsc.map
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -fopenmp -Wl,-z,relro,-z,now,-z,noexecstack -Wl,-soname,libwsc.so.1 -Wl,--no-undefined \
	  -Wl,--version-script=src/libwsc/libwsc.map -o $@ $(filter %.o %.a,$^) $(LDLIBS) && ln -sf libwsc.so.1 $(@D)/libwsc.so
## test: install what is missing, build, run every test; ends with `N passed, N failed`
test: deps
	$(Q)$(MAKE) all
	$(Q)sh tests/run.sh "$(MAKE)"
## check: the same without installing  (T=text picks tests, NPS="1 2" rank counts)
check: all
	$(Q)sh tests/run.sh "$(MAKE)"
test-programs: $(BUILD)/tests/unit $(BUILD)/tests/mpi $(BUILD)/tests/program
check-unit: $(BUILD)/tests/unit
	$(Q)$(SAN.$(VARIANT)) $< $(T)
check-mpi: $(BUILD)/tests/mpi
	$(Q)for n in $(NPS); do $(SAN.$(VARIANT)) $(MPIRUN) -np $$n $< $(T) || exit 1; done
## check-library: the shared library from C and from Python against the program
check-library: all library
	$(Q)sh tests/library.sh $(BUILD)/bin/wsc build/shared
## check-browser: report.html in headless Chromium; skipped by name where chromedriver is missing
check-browser: $(BUILD)/bin/wsc
	$(Q)if command -v python3 >/dev/null; then PYTHONDONTWRITEBYTECODE=1 python3 tests/browser/page_check.py $<; \
	else echo 'skipped: browser: python3 is not installed'; fi
## check-packaging: recipes of packages against the sources: versions, dependencies, syntax
check-packaging: $(BUILD)/bin/wsc
	$(Q)sh tests/packaging.sh $<
## check-rules: layers, banned functions, symbols, comments, names: the part of lint that needs no tools
check-rules: $(BUILD)/bin/wsc
	$(Q)CC='$(CC)' sh tests/lint/run.sh $(BUILD)/obj
check-program: $(BUILD)/tests/program $(BUILD)/bin/wsc
	$(Q)WSC=$(BUILD)/bin/wsc $(SAN.$(VARIANT)) $< $(T)
# A part of its suites: check-program-2of4
check-program-%: $(BUILD)/tests/program $(BUILD)/bin/wsc
	$(Q)WSC=$(BUILD)/bin/wsc WSC_TEST_PART=$* $(SAN.$(VARIANT)) $< $(T)
## test-faults: kills, stops and damage many times over, with a table at the end; a few are in `test`
test-faults: $(BUILD)/tests/unit $(BUILD)/tests/program $(BUILD)/bin/wsc
	$(Q)WSC_FAULTS=50 $(BUILD)/tests/unit damage
	$(Q)WSC_FAULTS=50 WSC=$(BUILD)/bin/wsc $(BUILD)/tests/program faults
## test-hosts: under a real Slurm, and over several hosts (namespaces); says what it skips  (SUITES="slurm netns")
test-hosts: $(BUILD)/bin/wsc $(BUILD)/benchmarks/link_delay
	$(Q)sh tests/hosts/run.sh $(CURDIR)/$(BUILD)/bin/wsc $(SUITES)
## fuzz: libFuzzer (clang) on every reader of files, FUZZ_SECONDS each (default 60); corpora in tests/fuzz
fuzz:
	$(Q)$(MAKE) VARIANT=fuzz build/fuzz/fuzz && sh tests/fuzz/run.sh build/fuzz/fuzz $(or $(FUZZ_SECONDS),60) $(FUZZ_TARGETS)
build/fuzz/fuzz: $(call obj,$(fuzz.c))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)
# a sanitizer makes tests several times as slow
asan tsan: export WSC_TEST_PATIENCE ?= 4
## asan: unit and MPI tests under AddressSanitizer, LeakSanitizer and UBSan
asan:
	$(Q)$(MAKE) VARIANT=asan NPS="$(or $(ASAN_NPS),1 3)" check-unit check-mpi
## tsan: what runs on several threads under ThreadSanitizer (clang, libomp-dev)
tsan:
	$(Q)test -r $(archer) || { echo 'tsan: no $(archer): install libomp-dev' >&2; exit 1; }
	$(Q)for t in $(THREADED); do $(MAKE) VARIANT=tsan check-unit T=$$t || exit 1; done
## valgrind: a dataset, a folded run and one on two ranks
valgrind: build/wsc
	$(Q)sh tests/valgrind.sh $(BUILD)/bin/wsc
## analyze: gcc -fanalyzer over the sources
analyze:
	$(Q)$(MAKE) VARIANT=analyze WERROR=1 build/analyze/bin/wsc
## cov: lines that the unit tests run, by folder (gcov)
cov:
	$(Q)find build/cov -name '*.gcda' -delete 2>/dev/null; $(MAKE) VARIANT=cov check-unit && sh tests/cov.sh build/cov
## golden-update: rewrite the expected messages and figures of tests/golden; look at the diff
golden-update: $(BUILD)/tests/unit $(BUILD)/tests/program $(BUILD)/bin/wsc
	$(Q)WSC_GOLDEN_UPDATE=1 $(BUILD)/tests/unit golden; \
	WSC_GOLDEN_UPDATE=1 WSC=$(BUILD)/bin/wsc $(BUILD)/tests/program golden; \
	$(BUILD)/bin/wsc validate --out build/validation >build/validation.txt; \
	sh tests/figures_doc.sh update build/validation; \
	rm -rf build/scaling && sh tests/scaling_doc.sh update $(BUILD)/bin/wsc build/scaling && \
	rm -rf build/faults && sh tests/faults_doc.sh update $(BUILD)/bin/wsc build/faults && \
	git diff --stat tests/golden docs

## lint: layers, banned functions, symbols, comments, format, clang-tidy, cppcheck, shell scripts
lint: $(BUILD)/bin/wsc $(BUILD)/tests/unit $(BUILD)/tests/mpi $(BUILD)/tests/program $(benches)
	$(Q)CC='$(CC)' sh tests/lint/run.sh $(BUILD)/obj
	$(Q)clang-format --dry-run --Werror $(sources)
	$(Q)printf '%s\n' $(filter %.c,$(sources)) | xargs -P $(JOBS) -n 4 sh -c 'clang-tidy -quiet "$$@" -- $(CPPFLAGS) -std=c17 2>/dev/null' _
	$(Q)rm -rf build/cppcheck && mkdir -p build/cppcheck && cppcheck -q --error-exitcode=1 --enable=warning,portability,performance --inline-suppr \
	  --std=c11 -j $(JOBS) --cppcheck-build-dir=build/cppcheck -D_GNU_SOURCE -Iinclude --suppress=missingIncludeSystem src
	$(Q)shellcheck -x $(shell find mpi_launch tests benchmarks .ci -name '*.sh' -o -name '*.sbatch') .ci/run mpi_launch/deps.sh
## format: rewrite the sources with clang-format
format:
	$(Q)clang-format -i $(sources)
## compdb: compile_commands.json for clangd
compdb:
	$(Q)bear -- $(MAKE) -B all

## run: the main job: data, training on 4 emulated CS-2s, sweep, report  (TEXT=file for your own)
run: deps
	$(Q)$(MAKE) all
	$(Q)sh mpi_launch/main_job.sh "$(TEXT)"
## deps: install what is missing (apt), or name the packages
deps:
	$(Q)sh mpi_launch/deps.sh
## bench: speed of kernels, training and simulation, verified first, in BENCH_MINUTES (5)
bench: all $(benches)
	$(Q)sh benchmarks/run.sh $(BUILD)
## bench-cluster: speed on several ranks and hosts (namespaces, root), beside DDP, in BENCH_MINUTES (20)
bench-cluster: all $(benches)
	$(Q)sh benchmarks/cluster.sh $(BUILD)
benches: $(benches)
## simulation-cost: CPU time of a simulated step over stages and systems, docs/simulation_cost.png
simulation-cost: $(BUILD)/benchmarks/simulation_cost
	$(Q)sh benchmarks/simulation_cost.sh $(BUILD)
## docs: docs/CONFIG.md from the key tables, the layers of docs/ARCHITECTURE.md; doxygen check of the headers
docs: all
	$(Q)build/wsc --help-config > docs/CONFIG.md
	$(Q)sh tests/lint/layer_picture.sh update
	$(Q)command -v doxygen >/dev/null && doxygen -q docs/Doxyfile || echo 'doxygen is not installed: headers not checked'
## site: the documents and the C reference as a searchable static site in build/site (mkdocs, doxygen)
site:
	$(Q)sh mpi_launch/packaging/site.sh build/site
## check-site: the site, with all its links
check-site: site
	$(Q)PYTHONDONTWRITEBYTECODE=1 python3 tests/site_check.py build/site
## install: to DESTDIR/PREFIX (default /usr/local); the folder may be moved
install: all
	$(Q)DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' PKGS='$(PKGS)' FLAGS='$(strip $(hdf5.h))' LIBS='$(strip $(hdf5.so) $(products))' sh mpi_launch/packaging/install.sh install '$(PREFIX)' $(BUILD)
## uninstall: remove what install made there
uninstall:
	$(Q)DESTDIR='$(DESTDIR)' sh mpi_launch/packaging/install.sh uninstall '$(PREFIX)'
## dist: the committed tree as build/wsc-VERSION.tar.gz, the same bytes on every host
VERSION = $(shell sed -n 's/.*define WSC_VERSION "\(.*\)".*/\1/p' src/out/out_file.c)
dist:
	$(Q)mkdir -p build && git archive --format=tar --prefix=wsc-$(VERSION)/ HEAD | gzip -9n >build/wsc-$(VERSION).tar.gz
	$(Q)echo build/wsc-$(VERSION).tar.gz
## deb: Debian packages of the committed tree in build/deb (dpkg-dev, debhelper, dh-python)
deb: dist
	$(Q)rm -rf build/deb && mkdir -p build/deb && cp build/wsc-$(VERSION).tar.gz build/deb/wsc_$(VERSION).orig.tar.gz
	$(Q)tar xzf build/wsc-$(VERSION).tar.gz -C build/deb && cp -r mpi_launch/packaging/debian build/deb/wsc-$(VERSION)/debian
	$(Q)cd build/deb/wsc-$(VERSION) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc && ls ../*.deb
## clean: remove build/
clean:
	$(Q)rm -rf build
## help: this list
help:
	@sed -n 's/^## *\([a-z-]*\): /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16
FORCE:
.PHONY: all config dist deb test test-programs check check-unit check-mpi check-program check-rules test-faults test-hosts fuzz asan tsan valgrind analyze cov golden-update lint format compdb run deps library check-library check-browser check-packaging site check-site \
        bench bench-cluster benches simulation-cost docs install uninstall clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:
