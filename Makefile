# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Entry points of openipoib: `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
KERNELS := 6.1 6.12

.PHONY: help demo t check test test-full test-features modules probe unit test-kunit test-kernels test-processors test-profiles test-profiles-hosts test-debug test-race test-packages test-distros guests vm bench bench-ha bench-fabric bench-rxe bench-insn bench-loop \
	test-connected test-fleet test-ha test-fuzz test-fuzz-planted test-mutations test-verbs \
	lab-up lab-down lab-status lab-shell \
	bootstrap format compile-commands hooks clean install uninstall

help: ## list the entry points
	@echo "openipoib $$(cat VERSION): IP over InfiniBand, and a fabric to run it on"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | \
		while IFS='|' read -r name what; do printf '  %-17s %s\n' "$$name" "$$what"; done
	@echo "The lab by hand: scripts/lab --help. One suite: scripts/run-tests --help."

demo: ## two hosts talk IP over InfiniBand; nothing is left behind
	@scripts/bootstrap run build
	@scripts/demo $(DEMO)

t: ## what reaches the files that have changed, fastest first (T="--quick drivers/ipoib/gid.c")
	@scripts/test $(T)

check: bootstrap ## format, lint, licences, units: minutes
	@scripts/run-tests --level check

test: bootstrap ## that and the drivers in kernels: what CI runs, about half an hour
	@scripts/run-tests

test-full: bootstrap ## everything there is: a night
	@scripts/bootstrap features packages
	@scripts/run-tests --level full

modules: bootstrap ## build the kernel modules for 6.1 and 6.12 into build/modules
	@for kernel in $(KERNELS); do scripts/build-modules $$kernel || exit; done

probe: ## which changes of kernels one has, as drivers/compat finds out (KVER=6.12, sid, a release, a tree)
	@scripts/build-modules $(or $(KVER),6.1) probe

unit: bootstrap ## C++ unit tests, with sanitizers
	@scripts/run-tests unit

test-kunit: bootstrap ## kernel unit tests, on a debug kernel
	@scripts/run-tests kunit

test-processors: bootstrap ## arm64, with pages of 4 and 64 KiB, and s390x: kernel units, C++ programs, hosts
	@scripts/bootstrap features
	@scripts/run-tests processors programs vm-processors

test-kernels: bootstrap ## every kernel that Debian serves: modules build, hosts talk, as a table (KVER="sid bookworm:s390x")
	@scripts/bootstrap features
	@tests/kernels/run $(KVER)

test-profiles: bootstrap ## every HCA that sib can be like: the stack on each, as a table (PROFILES="--kernel uml-7.3 mlx4")
	@tests/profiles/run $(PROFILES)

test-profiles-hosts: bootstrap ## the same on virtual hosts, with each driver and with real DMA (PROFILES="--drivers ours mlx4")
	@tests/profiles/hosts $(PROFILES)

test-debug: bootstrap ## everything on kernels with KASAN, lockdep and kmemleak
	@scripts/run-tests kunit stack fuzz-kernel verbs debug

test-race: bootstrap ## data races: hosts with KCSAN, on two and on four processors
	@scripts/run-tests race

test-packages: bootstrap ## packages: built, installed, booted with, removed
	@scripts/bootstrap packages
	@scripts/run-tests packages

test-distros: ## Debian 13, from an empty one to the demo: minutes to an hour (DISTROS="--step units trixie")
	@scripts/bootstrap build packages
	@tests/distros/run $(DISTROS)

guests: bootstrap ## tests of the lab with virtual hosts; not part of make test
	@scripts/run-tests guests

vm: bootstrap ## tests on two virtual hosts
	@scripts/run-tests vm

bench: bootstrap ## throughput against the in-tree driver (BENCH="--kernel 6.12")
	@tests/bench/ratio $(BENCH)

bench-ha: bootstrap ## failovers of ipoib-ha beside kernel bonding (BENCH="--failovers 4")
	@tests/bench/ha $(BENCH)

bench-fabric: bootstrap ## a switch of ibfabric alone, and between two hosts (BENCH="--rounds 5")
	@cmake -S . -B build/cmake -G Ninja > /dev/null && cmake --build build/cmake --target fabric-bench > /dev/null
	@build/cmake/bin/fabric-bench
	@tests/bench/fabric $(BENCH)

bench-rxe: bootstrap ## verbs on sib beside the kernel's rdma_rxe (BENCH="--kernel 6.12")
	@tests/bench/rxe $(BENCH)

bench-insn: bootstrap ## instructions of a packet beside the in-tree driver (BENCH="--functions 20")
	@cmake -S . -B build/cmake -G Ninja > /dev/null && cmake --build build/cmake --target insn-plugin insn-probe > /dev/null
	@tests/bench/insn $(BENCH)

bench-loop: bootstrap ## time of a packet beside the in-tree driver, in User-Mode Linux
	@tests/bench/loop

test-verbs: bootstrap ## every verbs program of the distribution, as a table (VERBS="--kernel 6.1,uml", VERBS=--last)
	@scripts/verbs $(VERBS)

test-ha: bootstrap ## ipoib-ha while ports fail in all ways (HA="--kernel 6.1 --driver ours")
	@/usr/bin/python3 -m pytest -v -p no:cacheprovider tests/vm -m ha --full $(HA)

test-connected: bootstrap ## connected mode with either driver on either host, as a table (CONNECTED="--kernel 6.1")
	@/usr/bin/python3 -m pytest -v -p no:cacheprovider tests/vm -m connected --full $(CONNECTED)

test-fleet: bootstrap ## one host in a subnet of ten thousand, beside the in-tree driver, as a table (FLEET="--kernel 6.1")
	@/usr/bin/python3 -m pytest -v -p no:cacheprovider tests/vm/test_fleet.py --full --kernel 6.12 $(FLEET)

test-fuzz: bootstrap ## fuzz targets, in user space a minute each (FUZZ="--seconds 3600 link"), of the kernel ten
	@tests/fuzz/run --build $(FUZZ)
	@tests/fuzz/kernel/run --seconds 600 $(KERNEL_FUZZ)

test-fuzz-planted: bootstrap ## faults planted into sib, each found by its fuzz target within ten minutes
	@tests/fuzz/kernel/run --seconds 600 --planted all $(KERNEL_FUZZ)

test-mutations: bootstrap ## small faults in the sources: which of them do the unit tests see (MUTATIONS="--seed 7")
	@tests/mutations/run $(MUTATIONS)

test-features: bootstrap ## ib_ipoib beside the kernel's driver, with the tests that prove it (FEATURES=--last)
	@scripts/bootstrap features
	@scripts/features $(FEATURES)

lab-up: bootstrap ## start the virtual hosts h1 and h2 (LAB="--kernel 6.12")
	@scripts/lab up $(LAB)

lab-status: ## show hosts, ports and cables
	@scripts/lab status

lab-shell: ## a shell in a virtual host (HOST=h1)
	@scripts/lab shell $(or $(HOST),h1)

lab-down: ## end the virtual hosts
	@scripts/lab down

bootstrap: ## install the Debian packages that are missing (as root)
	@scripts/bootstrap

# The paths of the units depend on the prefix, hence a build of its own.
INSTALL_BUILD := build/install
PREFIX ?= /usr
install: ## programs, service, man pages, sources for DKMS (PREFIX=/usr DESTDIR=)
	@cmake -S . -B $(INSTALL_BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DOPENIPOIB_TESTS=OFF > /dev/null
	@cmake --build $(INSTALL_BUILD)
	@for component in tools fabric lab dkms; do \
		cmake --install $(INSTALL_BUILD) --component $$component || exit; done
	@awk 1 $(INSTALL_BUILD)/install_manifest_{tools,fabric,lab,dkms}.txt > $(INSTALL_BUILD)/installed

uninstall: ## remove what install has installed; openib.conf stays (DESTDIR=)
	@scripts/uninstall $(INSTALL_BUILD)/installed

format: bootstrap ## format the C++ sources
	@cmake -S . -B build/cmake -G Ninja > /dev/null && cmake --build build/cmake --target format

compile-commands: ## build/compile_commands.json, for clangd and editors: C++ and the kernel's C (KVER=6.12)
	@scripts/compile-commands $(KVER)

hooks: ## have git check what is about to be committed, in seconds
	@scripts/install-hooks

clean: ## remove everything that was built
	@rm -rf build
