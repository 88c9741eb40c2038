# wsc: an emulator of a wafer-scale cluster.  `make help` lists the targets.
VARIANT ?= release
BUILD   ?= build/$(VARIANT)
CC      := mpicc
PKGS    := hdf5-openmpi yaml-0.1 jansson libxxhash zlib
MODULES := base conf vtime num hw model store report comm data stream kernels memoryx swarmx wafer run scaling app
NPS     ?= 1 2 3 5 8
JOBS    ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

Q   := $(if $(V),,@)
say  = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')
obj  = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wundef -Wvla -Wcast-align -Wwrite-strings -Wpointer-arith -Wswitch-enum -Wformat=2
FP   := -ffp-contract=off
ARCH ?= x86-64-v3
OPT.release := -O2
OPT.debug   := -Og -DWSC_DEBUG
OPT.asan    := -O1 -DWSC_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT.cov     := -O0 --coverage
ifeq ($(OPT.$(VARIANT)),)
  $(error VARIANT=$(VARIANT): choose release, debug, asan or cov)
endif
CPPFLAGS += -Iinclude -I$(BUILD)/gen -D_GNU_SOURCE $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
CFLAGS   += -std=c17 -g -fopenmp $(WARN) $(FP) $(OPT.$(VARIANT)) $(if $(WERROR),-Werror)
LDLIBS   += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -ldnnl -lm

lib.c   := $(foreach m,$(filter-out app,$(MODULES)),$(sort $(wildcard src/$(m)/*.c)))
app.c   := $(if $(filter app,$(MODULES)),$(sort $(wildcard src/app/*.c)))
test.c  := tests/support/test.c
unit.c  := tests/unit/main.c $(foreach m,$(MODULES),$(sort $(wildcard tests/unit/$(m)/*.c)))
mpi.c   := $(sort $(wildcard tests/mpi/*.c))
lib     := $(BUILD)/libwsc.a
sources  = $(shell find src include tests benchmarks -name '*.[ch]')

# Vector code: wide registers and -O3 where the loops are, never -ffast-math.
$(call obj,$(wildcard src/num/*.c src/kernels/host*.c)): CFLAGS += $(if $(filter release,$(VARIANT)),-O3 -march=$(ARCH))

MPIRUN   = mpirun --timeout 300
SAN.asan = ASAN_OPTIONS=fast_unwind_on_malloc=0:detect_stack_use_after_return=0 \
           LSAN_OPTIONS=suppressions=$(CURDIR)/tests/lint/lsan.supp:print_suppressions=0
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export OMPI_MCA_rmaps_base_oversubscribe := 1
export OMPI_MCA_mpi_yield_when_idle := 1

## all: build the program, build/wsc (default)
all: build/wsc

build/wsc: $(BUILD)/bin/wsc
	$(Q)ln -sf $(BUILD:build/%=%)/bin/wsc $@
$(BUILD)/bin/wsc: $(call obj,$(app.c)) $(lib)
$(BUILD)/tests/unit: $(call obj,$(unit.c) $(test.c)) $(lib)
$(BUILD)/tests/mpi: $(call obj,$(mpi.c) $(test.c)) $(lib)
$(BUILD)/bin/wsc $(BUILD)/tests/unit $(BUILD)/tests/mpi:
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/tests/unit $(BUILD)/tests/mpi: LDLIBS += $(shell pkg-config --libs cunit 2>/dev/null)

$(lib): $(call obj,$(lib.c))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) crD $@ $^
$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Objects depend on the flags too: a changed flag rebuilds, an unchanged one does not.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(CPPFLAGS) $(CFLAGS)' > $@.new; \
	cmp -s $@.new $@ && rm $@.new || mv $@.new $@
-include $(wildcard $(BUILD)/obj/*/*/*.d $(BUILD)/obj/*/*/*/*.d)

check-unit: $(BUILD)/tests/unit
	$(Q)$(SAN.$(VARIANT)) $< $(T)
check-mpi: $(BUILD)/tests/mpi
	$(Q)for n in $(NPS); do $(SAN.$(VARIANT)) $(MPIRUN) -np $$n $< $(T) || exit 1; done
## clean: remove build/
clean:
	$(Q)rm -rf build
## help: this list
help:
	@sed -n 's/^## *\([a-z-]*\): /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14
FORCE:
.PHONY: all check-unit check-mpi clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:
