# Paceline: one Makefile, a build folder per kind of build.
#   make help        lists the targets
#   SANITIZER=address|thread, CC=clang, DEVELOPER=1 (warnings are errors), COVERAGE=1

SHELL := /bin/bash
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
ARCH := $(shell uname -m)

BUILD := build/$(notdir $(firstword $(CC)))$(if $(SANITIZER),-$(SANITIZER))$(if $(COVERAGE),-coverage)
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wvla $(if $(DEVELOPER),-Werror)
SAN_address := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_thread := -fsanitize=thread
OPT := $(if $(COVERAGE),-O0 --coverage,-O3)
CPPFLAGS += -I. -Iinclude -I$(BUILD) -D_GNU_SOURCE -include paceline/banned.h
CFLAGS += -std=gnu11 -ffp-contract=off -g $(OPT) $(WARN) $(SAN_$(SANITIZER)) -pthread
LDFLAGS += $(SAN_$(SANITIZER)) $(if $(COVERAGE),--coverage) -pthread
MPI_CFLAGS := $(shell mpicc --showme:compile 2>/dev/null)
MPI_LIBS := $(shell mpicc --showme:link 2>/dev/null)

# Kernels are compiled once per instruction set; all sets are bit-equal (worker/kernels/vec.h).
ifeq ($(ARCH),x86_64)
ISAS := c avx2 avx512
else
ISAS := c neon
endif
ISA_FLAGS_c := -DISA_C
ISA_FLAGS_avx2 := -DISA_AVX2 -mavx2 -mfma
ISA_FLAGS_avx512 := -DISA_AVX512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512
ISA_FLAGS_neon := -DISA_NEON
KERNELS := tile math random reduce update

COMMON_SRC := $(wildcard common/*.c)
KERNEL_OBJ := $(foreach i,$(ISAS),$(KERNELS:%=$(BUILD)/worker/kernels/%.$(i).o)) \
              $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(KERNELS:%=worker/kernels/%.c),$(wildcard worker/kernels/*.c)))
WORKER_SRC := $(filter-out worker/kernels/%,$(wildcard worker/*.c worker/*/*.c))
CLI_SRC := $(wildcard cli/*.c)

COMMON_OBJ := $(COMMON_SRC:%.c=$(BUILD)/%.o)
WORKER_OBJ := $(WORKER_SRC:%.c=$(BUILD)/%.o) $(KERNEL_OBJ)
# The CLI reads data and checkpoints but links no MPI.
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o) \
           $(patsubst %.c,$(BUILD)/%.o,$(filter-out worker/comm/% worker/main.c,$(filter worker/data/% worker/checkpoint/%,$(WORKER_SRC)))) $(KERNEL_OBJ)
LIBS := -lcjson -lyaml -lz -lm

PROGRAMS := $(BUILD)/bin/paceline $(BUILD)/bin/paceline-worker

.PHONY: all
all: $(PROGRAMS) ## build the programs (default)

$(BUILD)/bin/paceline: $(CLI_OBJ) $(COMMON_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/bin/paceline-worker: $(WORKER_OBJ) $(COMMON_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(MPI_LIBS)

$(BUILD)/worker/comm/%.o: worker/comm/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(MPI_CFLAGS) -MMD -MP -c -o $@ $<

define KERNEL_RULE
$(BUILD)/worker/kernels/%.$(1).o: worker/kernels/%.c
	@mkdir -p $$(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(ISA_FLAGS_$(1)) -MMD -MP -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call KERNEL_RULE,$(i))))

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# A test names what it links in a line `// LINK: common/err.c worker/kernels ...`
# (worker/kernels: every kernel object; common: every common object); the linker then proves the
# layering. `// MPI: 1 2 3` runs it under mpirun on so many ranks.
UNIT_SRC := $(wildcard tests/unit/test_*.c)
MPI_SRC := $(wildcard tests/mpi/test_*.c)
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
MPI_BIN := $(MPI_SRC:%.c=$(BUILD)/%)
links = $(foreach s,$(shell sed -n 's|^// LINK: *||p' $(1)),$(if $(filter worker/kernels,$(s)),$(KERNEL_OBJ),$(if $(filter common,$(s)),$(COMMON_OBJ),$(s:%.c=$(BUILD)/%.o))))
define TEST_RULE
$(BUILD)/$(1:%.c=%): $(BUILD)/$(1:%.c=%.o) $(call links,$(1))
	$(CC) $(LDFLAGS) -o $$@ $$^ $(LIBS) $(if $(filter tests/mpi/%,$(1)),$(MPI_LIBS)) $(shell sed -n 's|^// LIBS: *||p' $(1))
endef
$(foreach t,$(UNIT_SRC) $(MPI_SRC),$(eval $(call TEST_RULE,$(t))))

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
