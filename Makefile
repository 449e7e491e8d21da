# Everything a reader or a builder calls. The logic of the VM scenarios is in tests/vm/ (see tests/vm/README.md).

PREFIX ?= /usr
DESTDIR ?=
CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The bases of the virtual machines are made with debootstrap and chroot: root, or sudo.
ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo -E env HOME="$$HOME" PATH="$$PATH")
STAGE := $(abspath $(TARGET))/vm-stage
PYTHON := $(ROOT) env ORIGINBOOT_VM_STAGE=$(STAGE) python3
VM := $(PYTHON) tests/vm/vm.py
# HOST_PROFILE=dev builds the host program faster, for work on the scenarios.
HOST_PROFILE ?= release
HOST_DIR := $(TARGET)/$(if $(filter dev,$(HOST_PROFILE)),debug,$(HOST_PROFILE))
FEATURES_EARLY := --no-default-features --features early
FEATURES_SEAL := --no-default-features --features seal
EARLY := --locked --profile early $(FEATURES_EARLY)
# Without unwind tables (see packaging/early.ld), with equal functions folded and short relocations.
EARLY_LINK := -C 'link-args=-Wl,-z,pack-relative-relocs -Wl,--icf=all -Wl,--no-eh-frame-hdr -Wl,-T,packaging/early.ld'
EARLY_MAX_KIB := 760
# Installed as they lie here, so that the links between them work; tests/guards.rs follows each link.
PAGES := README.md CHANGELOG.md CONTRIBUTING.md LICENSE $(wildcard docs/*.md) tests/vm/README.md

.PHONY: all build deps demo test unit lint size install stage vm vm-list vm-all vm-test vm-mutants cuts evidence-matrix bench-arm bench-boot bench-agent bench-drain bench-parse bench-conf fuzz

all: build

build:
	$(CARGO) build --locked --profile $(HOST_PROFILE) --bin originboot
	$(CARGO) rustc $(EARLY) --bin originboot-early -- $(EARLY_LINK)
	$(CARGO) build --locked --profile early $(FEATURES_SEAL) --bin originboot-seal

# What the other targets need and this machine lacks, from the distribution's packages.
deps:
	@sh tests/vm/deps.sh

test: deps lint unit vm-test

unit:
	$(CARGO) test --locked --features seal

# Debian's cargo-web comes without rustfmt and clippy: said, not failed.
lint:
	@if $(CARGO) fmt --version >/dev/null 2>&1; then $(CARGO) fmt --check; else echo "no rustfmt here: formatting not checked"; fi
	@if $(CARGO) clippy --version >/dev/null 2>&1; then \
		$(CARGO) clippy --locked --all-targets -- -D warnings && \
		$(CARGO) clippy --locked $(FEATURES_EARLY) --bin originboot-early -- -D warnings && \
		$(CARGO) clippy --locked $(FEATURES_SEAL) --bin originboot-seal -- -D warnings; \
	else echo "no clippy here: lints not checked"; fi
	@sh tests/vm/lint-shell.sh
	@python3 tests/vm/mutants.py --check
	@sh tests/vm/lint-man.sh

size: build
	@python3 tests/vm/size.py $(TARGET)/early/originboot-early $(EARLY_MAX_KIB)

install: build
	install -D -m 755 $(if $(filter dev,$(HOST_PROFILE)),-s) $(HOST_DIR)/originboot $(DESTDIR)$(PREFIX)/bin/originboot
	install -D -m 755 $(TARGET)/early/originboot-early $(DESTDIR)$(PREFIX)/libexec/originboot/originboot-early
	install -D -m 755 $(TARGET)/early/originboot-seal $(DESTDIR)$(PREFIX)/libexec/originboot/originboot-seal
	install -d $(DESTDIR)/usr/lib/systemd/system-shutdown
	ln -sf $(PREFIX)/libexec/originboot/originboot-seal $(DESTDIR)/usr/lib/systemd/system-shutdown/originboot
	mkdir -p $(DESTDIR)/usr $(DESTDIR)/etc
	cp -R --preserve=mode hooks/usr/. $(DESTDIR)/usr/
	cp -R --preserve=mode hooks/etc/. $(DESTDIR)/etc/
	for page in $(PAGES); do install -D -m 644 "$$page" "$(DESTDIR)$(PREFIX)/share/doc/originboot/$$page" || exit; done
	for page in packaging/man/*; do \
		install -D -m 644 -t "$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}" "$$page" || exit; done

# The installed tree that the virtual machines get; built as the caller, also where the rest needs sudo.
stage: build
	@rm -rf $(STAGE)
	@$(MAKE) --no-print-directory install DESTDIR=$(STAGE) >/dev/null

# The names of all VM scenarios and their variants.
vm-list:
	@python3 tests/vm/vm.py list

# One scenario, for example: make vm SCENARIO=10-pool-writethrough-pulled@debian12   (V=1 shows the consoles)
vm: deps stage
	@$(VM) run $(if $(V),--verbose) "$(SCENARIO)"

# All of them, two at a time; SHARD=1/3 takes a third. What passed with these very programs is not run again.
vm-all: deps stage
	@$(VM) all --shard "$(SHARD)"

vm-test: deps stage
	@$(VM) all --test

vm-mutants: deps
	@$(ROOT) python3 tests/vm/mutants.py $(MUTANT)

# N random lives of a cached root, each ended by pulling the SSD: how often SAFE, UNKNOWN, UNSAFE, and never SAFE with a
# flushed file wrong. SEED=… draws others.
evidence-matrix: deps stage
	@$(PYTHON) tests/vm/evidence_matrix.py $(or $(N),40) $(SEED)

cuts: deps stage
	@$(VM) run 91-cuts-detach@every
	@$(VM) run 6a-stamp-torn@every

demo: deps stage
	@$(PYTHON) tests/vm/demo.py

bench-boot: deps stage
	@$(PYTHON) tests/vm/bench_boot.py

# What each event of a physical volume pays.
bench-arm: deps stage
	@$(PYTHON) tests/vm/bench_arm.py

# Sectors written to the HDD in MINUTES=5 after an orderly reboot, with and without.
bench-drain: deps stage
	@$(PYTHON) tests/vm/bench_drain.py $(MINUTES)

# Processor time of the agent and sectors written in MINUTES (10) on an idle machine.
bench-agent: deps stage
	@$(PYTHON) tests/vm/bench_agent.py $(MINUTES)

# A VG of 10,000 LVs read by us and by lvm (as root, for the comparison).
bench-parse:
	$(CARGO) bench --locked $(FEATURES_EARLY) --bench parse

# An mdadm.conf of 100,000 ARRAY lines: time and peak memory, and that both grow with its size and no faster.
bench-conf:
	$(CARGO) bench --locked --no-default-features --features conf --bench conf

# T seconds for each target of fuzz/.
fuzz:
	@sh tests/vm/fuzz.sh $(or $(T),60)
