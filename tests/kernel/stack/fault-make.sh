# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
# clock: jump
# Each allocation fails once while ib_ipoib is loaded and HCAs and interfaces are
# made. Each try ends in success or in an error that leaves nothing behind.
source "$STACK/lib.sh"
NTH=$STACK/../fail-nth
cable
# Not with failures, as ib_ipoib is: kmemleak then holds two empty nodes of an xarray
# for lost in two runs of five, and whose array it is has not been found.
step "sib is loaded (its own allocations do not fail here)"
load_sib
step "an HCA is added"
"$NTH" own add sib0 va
step "ib_ipoib is loaded"
"$NTH" own load "$IPOIB_KO"
load_ipoib
step "an interface is made"
"$NTH" own interface sib0 va "$IPOIB_KO"
step "the stack works"
hcas
start_sm
addresses
stack_down
