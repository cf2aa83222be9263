# Paceline: one Makefile, a build folder per kind of build.
#   make help lists the targets; CC=clang, DEVELOPER=1 (warnings are errors),
#   SANITIZER=address|thread|fuzzer and COVERAGE=1 apply to all of them; V=1 shows commands.

SHELL := /bin/bash
say = $(if $(V),,@echo "  $(1) $(@:$(BUILD)/%=%)";)
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
ARCH := $(shell uname -m)

BUILD := build/$(notdir $(firstword $(CC)))$(if $(SANITIZER),-$(SANITIZER))$(if $(COVERAGE),-coverage)
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wvla $(if $(DEVELOPER),-Werror)
SAN_address := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_thread := -fsanitize=thread
SAN_fuzzer := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined
# Sanitized code is compiled for minutes at -O3.
OPT := $(if $(COVERAGE),-g -O0 --coverage,$(if $(SANITIZER),-g1 -O1,-g -O3))
# "override": what somebody adds on the command line must not take these away; sums depend on them.
override CPPFLAGS += -I. -Iinclude -I$(BUILD) -D_GNU_SOURCE -include paceline/banned.h
override CFLAGS += -std=gnu11 -ffp-contract=off $(OPT) $(WARN) $(SAN_$(SANITIZER)) -pthread
override LDFLAGS += $(SAN_$(SANITIZER)) $(if $(COVERAGE),--coverage) -pthread
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
KERNELS := product conv dense pool activation math random reduce update norm lrn lstm
# Once more with operands of bf16 (worker/kernels/operand.h); the CPU's own products of bf16 are an
# instruction set of these alone, beside the others of avx512.
PRODUCTS := product conv dense
ISAS_BF16 := $(ISAS) $(if $(filter avx512,$(ISAS)),avx512bf16)
ISA_FLAGS_avx512bf16 := $(ISA_FLAGS_avx512) -DISA_AVX512BF16 -mavx512bf16

COMMON_SRC := $(wildcard common/*.c)
KERNEL_OBJ := $(foreach i,$(ISAS),$(KERNELS:%=$(BUILD)/worker/kernels/%.$(i).o)) \
              $(foreach i,$(ISAS_BF16),$(PRODUCTS:%=$(BUILD)/worker/kernels/%.$(i).bf16.o)) \
              $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(KERNELS:%=worker/kernels/%.c),$(wildcard worker/kernels/*.c)))
WORKER_SRC := $(filter-out worker/kernels/%,$(wildcard worker/*.c worker/*/*.c worker/*/*/*.c))
CLI_SRC := $(wildcard cli/*.c cli/*/*.c)
STUDIES := $(wildcard examples/studies/*.yaml)
OPERATOR_SRC := $(wildcard operator/*.c operator/*/*.c)
AGENT_SRC := $(wildcard agent/*.c)
WIRE_SRC := $(wildcard wire/*.c)

COMMON_OBJ := $(COMMON_SRC:%.c=$(BUILD)/%.o)
WORKER_OBJ := $(WORKER_SRC:%.c=$(BUILD)/%.o) $(KERNEL_OBJ)
# The CLI reads data and checkpoints, asks the model what memory it takes, and writes the CRD from the
# tables of fields, but links no MPI.
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o) $(BUILD)/cli/study/texts.o $(BUILD)/operator/api/status_table.o \
           $(patsubst %.c,$(BUILD)/%.o,$(filter-out worker/comm/% worker/main.c,$(filter worker/data/% worker/checkpoint/% worker/model/% worker/lanes/% worker/layers/% worker/threads/%,$(WORKER_SRC)))) $(KERNEL_OBJ)
OPERATOR_OBJ := $(OPERATOR_SRC:%.c=$(BUILD)/%.o)
AGENT_OBJ := $(AGENT_SRC:%.c=$(BUILD)/%.o)
WIRE_OBJ := $(WIRE_SRC:%.c=$(BUILD)/%.o)
LIBS := -lcjson -lyaml -ldeflate -lz -lm
DATA_LIBS := -ljpeg -lpng
AGENT_LIBS := -lssl -lcrypto
OPERATOR_LIBS := -lcurl -lwebsockets -lssl -lcrypto

PROGRAMS := $(BUILD)/bin/paceline $(BUILD)/bin/paceline-worker $(BUILD)/bin/paceline-agent \
            $(BUILD)/bin/paceline-agent-portable $(if $(wildcard operator/main.c),$(BUILD)/bin/paceline-operator)

# kubectl finds its plugins by their names.
PLUGIN := $(BUILD)/bin/kubectl-paceline

.PHONY: all
all: $(PROGRAMS) $(PLUGIN) ## build the programs (default)

$(PLUGIN): | $(BUILD)/bin/paceline
	@ln -sf paceline $@

# The studies are in the program, so that it finds them wherever it is.
$(BUILD)/cli/study/texts.c: $(STUDIES) scripts/study-texts.sh
	@mkdir -p $(@D)
	$(call say,GEN)scripts/study-texts.sh $(STUDIES) >$@

$(BUILD)/cli/study/texts.o: $(BUILD)/cli/study/texts.c
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/bin/paceline: $(CLI_OBJ) $(COMMON_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(DATA_LIBS)

$(BUILD)/bin/paceline-worker: $(WORKER_OBJ) $(COMMON_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(DATA_LIBS) $(MPI_LIBS)

$(BUILD)/bin/paceline-operator: $(OPERATOR_OBJ) $(WIRE_OBJ) $(COMMON_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(OPERATOR_LIBS)

$(BUILD)/bin/paceline-agent: $(AGENT_OBJ) $(WIRE_OBJ) $(COMMON_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(AGENT_LIBS)

# For images of any kind, with the loader and libraries that agent/install.c puts beside it; DT_RPATH,
# since LD_LIBRARY_PATH is the image's.
$(BUILD)/bin/paceline-agent-portable: $(AGENT_OBJ) $(WIRE_OBJ) $(COMMON_OBJ)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -Wl,--dynamic-linker=/paceline/lib/ld.so \
	    -Wl,--disable-new-dtags,-rpath,/paceline/lib -o $@ $^ $(LIBS) $(AGENT_LIBS)

$(BUILD)/worker/comm/%.o: worker/comm/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) $(MPI_CFLAGS) -MMD -MP -c -o $@ $<

define KERNEL_RULE
$(BUILD)/worker/kernels/%.$(1).o: worker/kernels/%.c
	@mkdir -p $$(@D)
	$$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) $(ISA_FLAGS_$(1)) -MMD -MP -c -o $$@ $$<
endef
$(foreach i,$(ISAS_BF16),$(eval ISA_FLAGS_$(i).bf16 := $(ISA_FLAGS_$(i)) -DBF16))
$(foreach i,$(ISAS) $(ISAS_BF16:%=%.bf16),$(eval $(call KERNEL_RULE,$(i))))

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# A test names what it links in a line `// LINK: common/err.c operator/core ...` (a folder: every
# object of it), so the linker proves the layering.
# `// LIBS: -lx` adds libraries; tests/run.sh reads `// MPI: 1 2 3` and `// TIMEOUT: 300`.
UNIT_SRC := $(wildcard $(addsuffix test_*.c,tests/unit/*/ tests/unit/*/*/ tests/unit/*/*/*/))
MPI_SRC := $(wildcard tests/mpi/test_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
MPI_BIN := $(MPI_SRC:%.c=$(BUILD)/%)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(BUILD)/%)
CLI_TESTS := $(wildcard tests/cli/test_*.sh tests/operator/test_*.sh tests/agent/test_*.sh)
API_TESTS := $(wildcard tests/api/test_*.sh)
# By name only: it means something on a quiet machine alone.
CLUSTER_TESTS := $(filter-out tests/cluster/test_speed.sh,$(wildcard tests/cluster/test_*.sh))
# ThreadSanitizer cannot see through MPI: unit tests, and the operator with both its threads.
THREAD_TESTS := $(UNIT_BIN) tests/operator/test_web.sh tests/api/test_survival.sh
ALL_TESTS = $(UNIT_BIN) $(FUZZ_BIN) $(MPI_BIN) $(CLI_TESTS) $(API_TESTS)
TESTS ?= $(if $(filter thread,$(SANITIZER)),$(THREAD_TESTS),$(ALL_TESTS))

# Scripts that need the simulation's programs.
SIM_TESTS = $(if $(filter tests/operator/test_sim.sh,$(TESTS)),$(BUILD)/tests/sim/sim) \
            $(if $(filter tests/api/test_sim_replay.sh,$(TESTS)),$(BUILD)/tests/sim/replay)
# Preloaded into programs whose calls are to fail one by one.
TORTURE = $(if $(filter tests/operator/test_torture.sh,$(TESTS)),$(BUILD)/tests/torture/fail_nth.so $(UNIT_BIN))
# Prints the objects of a job.
OBJECTS = $(if $(filter tests/operator/test_objects.sh tests/operator/test_tf_config.sh tests/api/test_golden.sh,$(TESTS)),\
            $(BUILD)/tests/operator/objects)
# An operator to talk to agents with, and an MPI program that is not ours.
AGENT_CLIENT = $(if $(filter tests/agent/%,$(TESTS)),$(BUILD)/tests/agent/client $(BUILD)/tests/agent/program)

linked = $(if $(filter worker/kernels,$(1)),$(KERNEL_OBJ),$(patsubst %.c,$(BUILD)/%.o,$(if $(filter %.c,$(1)),$(1),$(wildcard $(1)/*.c $(1)/*/*.c))))
links = $(foreach s,$(shell sed -n 's|^// LINK: *||p' $(1)),$(call linked,$(s)))
# A fuzz target has libFuzzer's main, or one that replays the inputs named on its command line.
FUZZ_MAIN := $(if $(filter fuzzer,$(SANITIZER)),,$(BUILD)/tests/fuzz/replay.o)
FUZZ_FLAGS := $(if $(filter fuzzer,$(SANITIZER)),-fsanitize=fuzzer)
libs = $(LIBS) $(if $(filter tests/mpi/%,$(1)),$(MPI_LIBS)) $(if $(filter tests/fuzz/%,$(1)),$(FUZZ_FLAGS)) \
       $(shell sed -n 's|^// LIBS: *||p' $(1))
define TEST_RULE
$(BUILD)/$(1:%.c=%): $(BUILD)/$(1:%.c=%.o) $(call links,$(1)) $(if $(filter tests/fuzz/%,$(1)),$(FUZZ_MAIN))
	$$(call say,LD)$(CC) $(LDFLAGS) -o $$@ $$^ $(call libs,$(1))
endef
$(foreach t,$(UNIT_SRC) $(MPI_SRC) $(FUZZ_SRC) $(wildcard tests/operator/objects.c),$(eval $(call TEST_RULE,$(t))))

# These start make again: packages must be there, and flags fixed, before this file is read.
AGAIN := $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: demo test tests check verify asan tsan coverage coverage-operator fuzz
demo: ## install what is missing, build, train Fashion-MNIST
	@scripts/install-deps.sh build
	@$(AGAIN) all
	@$(BUILD)/bin/paceline run examples/fashion-cnn.yaml

test: ## install what is missing, build, run every test
	@scripts/install-deps.sh test
	@$(AGAIN) check

tests: all $(SIM_TESTS) $(TORTURE) $(OBJECTS) $(AGENT_CLIENT) $(filter $(BUILD)/%,$(TESTS)) ## build the tests

check: tests $(if $(filter tests/api/%,$(TESTS)),kube-tools) ## run every test (TESTS="..." some), installing nothing
	@BUILD=$(BUILD) KUBERNETES=$(KUBERNETES) tests/run.sh $(TESTS)

verify: $(BUILD)/bin/paceline ## generated files are not stale, the CRD is small; its rules' costs
	@PACELINE=$(BUILD)/bin/paceline tests/operator/test_manifests.sh

# Tests of what a strategy or a network promises, of many runs each: test_every_strategy.sh walks the code of the
# one, unit tests that of the other. And the documents' commands, each of which has a test of its own.
LONG_TESTS := $(patsubst %,tests/cli/test_%.sh,sum_order graph accumulate servers async local_sgd elastic \
    groups schedules staleness switch switch_resume model_parallel simulated random_strategy loss_strategies docs)
asan: ## tests under AddressSanitizer and UBSan, without those of many minutes
	@$(AGAIN) check SANITIZER=address $(if $(findstring command,$(origin TESTS)),,TESTS='$$(filter-out $$(LONG_TESTS),$$(ALL_TESTS))')

tsan: ## unit tests and the operator under ThreadSanitizer
	@$(AGAIN) check SANITIZER=thread

coverage: ## tests with gcov; branch coverage per file
	@$(AGAIN) check COVERAGE=1
	@gcovr --root . --branches --exclude tests build/$(notdir $(CC))-coverage

.PHONY: kube-tools api-tests-newest
api-tests-newest: ## tests/api against the newest Kubernetes that can be built
	@$(AGAIN) check TESTS="$(API_TESTS)" KUBERNETES=kubernetes-1.36

kube-tools: ## build the Kubernetes that tests/api needs, once (minutes)
	@scripts/kube-tools.sh $(KUBERNETES) || [ $$? -eq 77 ]

# A real node (tests/cluster/cluster.sh): CLUSTER=name for several, KEEP=1 keeps its images.
CLUSTER ?= main
.PHONY: cluster cluster-down test-cluster
cluster: ## start a real one-node Kubernetes on this machine, as root (first time: many minutes)
	@scripts/install-deps.sh cluster
	@scripts/cluster.sh up $(CLUSTER)

cluster-down: ## end it and remove every trace (KEEP=1: its images stay)
	@scripts/cluster.sh down $(if $(KEEP),--keep) $(CLUSTER)

test-cluster: all $(BUILD)/tests/agent/client $(BUILD)/tests/agent/program ## tests on a real cluster of their own, as root
	@BUILD=$(BUILD) tests/cluster/run.sh $(or $(filter tests/cluster/%,$(TESTS)),$(CLUSTER_TESTS))

coverage-operator: ## operator/core and operator/reconcile: fails unless every branch is taken
	@tests/coverage.sh

FUZZ_SECONDS ?= 30
fuzz: ## run each fuzz target for FUZZ_SECONDS (30)
	@$(AGAIN) CC=clang SANITIZER=fuzzer fuzz-run

fuzz-bring: ## bring what fuzzing has found into tests/fuzz/corpus, to be committed
	@$(AGAIN) CC=clang SANITIZER=fuzzer fuzz-bring-run

.PHONY: fuzz-bring fuzz-bring-run
fuzz-bring-run: $(FUZZ_BIN)
	@tests/fuzz.sh --bring $(FUZZ_BIN)

.PHONY: fuzz-run
fuzz-run: $(FUZZ_BIN)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz.sh $(FUZZ_BIN)

# The real controller in simulated clusters: SEED=n replays one history, SEEDS=n runs the first n.
SIM_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/sim/replay.c,$(wildcard tests/sim/*.c)) \
           $(wildcard operator/controller/*.c operator/reconcile/*.c operator/objects/*.c operator/core/*.c operator/api/*.c) \
           operator/web/snapshot.c)
SEEDS ?= 2000
.PHONY: sim sim-mutants
sim: $(BUILD)/tests/sim/sim ## the operator in simulated clusters (SEEDS=2000; SEED=n replays one)
	@$< $(if $(SEED),--seed $(SEED) --verbose,--seeds 1-$(SEEDS) --jobs $(shell nproc) --stats)

$(BUILD)/tests/sim/sim: $(SIM_OBJ) $(COMMON_OBJ)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -lcrypto

$(BUILD)/tests/sim/replay: $(patsubst %,$(BUILD)/tests/sim/%.o,replay apiserver apilist store target value) $(COMMON_OBJ)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/tests/agent/client: $(BUILD)/tests/agent/client.o $(WIRE_OBJ) $(COMMON_OBJ)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(AGENT_LIBS)

# Without sanitizers: it stands between a program and its allocator.
$(BUILD)/tests/torture/fail_nth.so: tests/torture/fail_nth.c
	@mkdir -p $(@D)
	$(call say,LD)$(CC) -shared -fPIC -O1 -Wall -Wextra -Werror -std=gnu11 -D_GNU_SOURCE -o $@ $< -ldl

# As a user's: nothing of ours is in it, not even flags.
$(BUILD)/tests/agent/program: tests/agent/program.c
	@mkdir -p $(@D)
	$(call say,CC)mpicc -o $@ $<

sim-mutants: $(BUILD)/tests/sim/sim ## deliberate bugs in the operator: each must be caught
	@tests/sim/mutants.sh

SOURCES := $(COMMON_SRC) $(WIRE_SRC) $(WORKER_SRC) $(CLI_SRC) $(OPERATOR_SRC) $(AGENT_SRC) $(wildcard worker/kernels/*.c)
OTHER_C := $(wildcard bench/*.c bench/*/*.c tests/*.[ch] tests/*/*.[ch] tests/unit/*/*.c tests/unit/*/*/*.c tests/cluster/node/*.c)
HEADERS := $(wildcard include/paceline/*.h common/*.h wire/*.h cli/*.h cli/*/*.h agent/*.h worker/*.h worker/*/*.h worker/*/*/*.h operator/*.h operator/*/*.h)

.PHONY: tidy format format-check shellcheck names-check
tidy: $(SOURCES:%=$(BUILD)/%.tidy) ## clang-tidy: bugs, function length, complexity
TIDY = clang-tidy --quiet $< -- $(CPPFLAGS) -std=gnu11 $(TIDY_FLAGS) && touch $@
$(BUILD)/worker/kernels/%.c.tidy: TIDY_FLAGS = $(ISA_FLAGS_$(word 2,$(ISAS)))
$(BUILD)/worker/comm/%.c.tidy: TIDY_FLAGS = $(MPI_CFLAGS)
$(BUILD)/%.c.tidy: %.c .clang-tidy $(HEADERS)
	@mkdir -p $(@D)
	$(call say,TIDY)$(TIDY)

format: ## rewrite every C file with clang-format
	@clang-format -i $(SOURCES) $(OTHER_C) $(HEADERS)

format-check: ## fail when clang-format would change a file
	@clang-format --dry-run --Werror $(SOURCES) $(OTHER_C) $(HEADERS)

shellcheck: ## lint the shell scripts
	@shellcheck -S warning .ci/run $(wildcard scripts/*.sh images/*.sh tests/*.sh tests/*/*.sh tests/cluster/node/*.sh bench/*/*.sh)

names-check: ## fail when a struct, or a static function of the programs, has the name of another
	@scripts/check-names.sh

.PHONY: bench
BENCH ?=
bench: all $(BUILD)/bench/peak $(BUILD)/bench/jpeg/decode ## compare with PyTorch and TensorFlow (BENCH="--help")
	@bench/peers/install.sh
	@python3 bench/run.py --build $(BUILD) $(BENCH)

$(BUILD)/bench/jpeg/decode: $(BUILD)/bench/jpeg/decode.o $(COMMON_OBJ) $(KERNEL_OBJ) $(filter $(BUILD)/worker/data/%,$(WORKER_OBJ))
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(DATA_LIBS) $(LIBS)

$(BUILD)/bench/peak: $(BUILD)/bench/peak.o
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^

.PHONY: bench-comm
BENCH_COMM ?=
bench-comm: $(BUILD)/bench/comm/allreduce ## our all-reduces against MPI's, on this host and over TCP (as root)
	@python3 bench/comm/run.py --program $< $(BENCH_COMM)

$(BUILD)/bench/comm/allreduce.o: CPPFLAGS += $(MPI_CFLAGS)
$(BUILD)/bench/comm/allreduce: $(BUILD)/bench/comm/allreduce.o $(COMMON_OBJ) $(KERNEL_OBJ) \
    $(filter $(BUILD)/worker/comm/%,$(WORKER_OBJ)) $(BUILD)/worker/lanes/lanes.o $(BUILD)/worker/lanes/placement.o
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(MPI_LIBS)

.PHONY: operator-demo bench-operator
operator-demo: all ## a real API server, the operator and a job on this machine (KEEP=1: stay)
	@PACELINE_OPERATOR=$(BUILD)/bin/paceline-operator KEEP=$(KEEP) scripts/operator-demo.sh

BENCH_OPERATOR ?=
bench-operator: all $(BUILD)/bench/operator/raw ## the operator's speed and size against a real API server
	@BUILD=$(BUILD) bench/operator/run.py $(BENCH_OPERATOR)

$(BUILD)/bench/operator/raw: $(BUILD)/bench/operator/raw.o $(COMMON_OBJ) \
    $(filter $(BUILD)/operator/api/% $(BUILD)/operator/objects/%,$(OPERATOR_OBJ))
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(OPERATOR_LIBS)

BENCH_PROFILER ?=
.PHONY: bench-profiler
bench-profiler: all ## what timing each layer costs, on and off (minutes)
	@$(MAKE) --no-print-directory all BUILD=$(BUILD)-noprofile CFLAGS=-DPROFILE_NONE
	@bench/profiler/run.py --build $(BUILD) --without $(BUILD)-noprofile $(BENCH_PROFILER)

BENCH_ESTIMATE ?=
.PHONY: bench-estimate
bench-estimate: all ## what estimates predict against simulated runs (minutes)
	@bench/estimate/run.py --build $(BUILD) $(BENCH_ESTIMATE)

IMAGES ?=
.PHONY: images test-images
images: ## container images with docker, podman or buildah (IMAGES="--local-base": from no registry)
	@scripts/images.sh $(IMAGES)

test-images: ## build the images from no registry, as root, and look into them
	@BUILD=$(BUILD) tests/run.sh tests/images/test_images.sh

PREFIX ?= /usr/local
.PHONY: install
install: all ## copy the programs to PREFIX (/usr/local)/bin
	install -D -t $(DESTDIR)$(PREFIX)/bin $(PROGRAMS)
	ln -sf paceline $(DESTDIR)$(PREFIX)/bin/$(notdir $(PLUGIN))

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
