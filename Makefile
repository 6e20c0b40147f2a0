# The front door. Every target installs what is missing first (tools/setup.sh is silent when nothing is).

JOBS ?= $(shell nproc)
RELEASE := build/release

.PHONY: up demo build dist test check bench storm storm-long museum test-cluster format clean
.PHONY: setup setup-test setup-check configure
.DEFAULT_GOAL := build

# Starts the embedded control plane with the demo cluster; ends on Ctrl-C.
up: build
	@tools/up.sh

# The scripted tour: every capability, each step checked.
demo: build
	@tools/demo.sh

# The executable: build/release/berth
build: configure
	@cmake --build $(RELEASE) -j $(JOBS) --target berth_programs

# A release in build/dist: a tarball, a Debian package, a container image, their checksums.
dist:
	@tools/setup.sh dist
	@test -f build/static/build.ninja || cmake --preset static
	@cmake --build build/static -j $(JOBS) --target berth
	@tools/release/dist.py

# Benchmarks are built but not run, so that a change that breaks one is known at once.
test: setup-test configure
	@cmake --build $(RELEASE) -j $(JOBS) --target berth_programs berth_tests berth_benches
	@tools/run-tests --build $(RELEASE)

check: setup-check
	@tools/check

bench: configure
	@cmake --build $(RELEASE) -j $(JOBS) --target berth_programs berth_benches
	@tools/run-bench --build $(RELEASE)

# Hostile worlds from seeds: make storm SEEDS=2000; make storm ONLY=42 or ONLY=build/storms/storm-42.yaml;
# make storm DEFECT=gang-minimum-not-read: with a defect of the museum, until a seed finds it
SEEDS ?= 300
storm: configure
	@cmake --build $(RELEASE) -j $(JOBS) --target $(if $(DEFECT),museum-storm,sim-storm)
	@tools/storm.py --build $(RELEASE) --seeds $(SEEDS) $(if $(ONLY),--only $(ONLY)) \
		$(if $(DEFECT),--defect $(DEFECT))

# An hour of them, from seed FIRST on.
FIRST ?= 1
storm-long: configure
	@cmake --build $(RELEASE) -j $(JOBS) --target sim-storm
	@tools/storm.py --build $(RELEASE) --minutes 60 --first $(FIRST)

# The defects that are known: each is switched on, and a test or a storm must find it.
museum: configure
	@cmake --build $(RELEASE) -j $(JOBS) --target museum_test museum-storm
	@$(RELEASE)/museum_test --gtest_brief=1

test-cluster: build
	@tools/test-cluster.sh

format: setup-check
	@tools/check --fix

clean:
	rm -rf build

setup:
	@tools/setup.sh build

setup-test:
	@tools/setup.sh test

setup-check:
	@tools/setup.sh check

configure: setup
	@test -f $(RELEASE)/build.ninja || cmake --preset release
