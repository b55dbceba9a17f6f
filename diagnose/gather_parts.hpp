// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The parts of gathering, each of which fills in its part of the facts.
#pragma once

#include "conf/openib/linux_state.hpp"
#include "diagnose/facts.hpp"
#include "netlink/socket.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace openipoib::diagnose
{

// Links, addresses and what else netlink and sysfs say of interfaces. @wanted: the one to look at
[[nodiscard]] io::Result<void> readInterfaces(netlink::Socket &socket, const openib::Roots &roots,
                                              const std::string &wanted, Facts &facts);
// The network namespace that has the interface that is missing here, or any if none is wanted
[[nodiscard]] std::string findElsewhere(const std::string &wanted);
// An ARP reply has come in at an interface: of another host, if none of this one has that hardware
// address. Its first octet, flags, does not count.
void noteReply(int index, io::View address, io::View hardware, Facts &facts);
void readNeighbours(netlink::Socket &socket, const openib::Roots &roots, Facts &facts);

// The ports of the interfaces; without any interface all that are InfiniBand
void readPorts(const openib::Roots &roots, Facts &facts);
void readInterrupts(const openib::Roots &roots, Facts &facts);
void sampleCounters(const openib::Roots &roots, Sample sample, Facts &facts);

void readFirewall(const openib::Roots &roots, Facts &facts);
// The drops in what `nft -j list ruleset` prints: rules that drop all that an interface sends or
// receives, or all of one address. nullopt: it is no ruleset, or not all of it.
[[nodiscard]] std::optional<std::vector<Drop>> dropsIn(std::string_view json);

// Likewise in what `iptables-legacy-save` prints. @program: "iptables-legacy"
[[nodiscard]] std::vector<Drop> dropsInIptables(std::string_view text, const std::string &program);

void bindAddresses(Facts &facts);

// The way to Facts::peer, whose address is set
void walkToPeer(netlink::Socket &socket, const openib::Roots &roots, Facts &facts);
// Whether an echo has come back, by the exit status of ping and what it has printed; nullopt: it
// has sent none.
[[nodiscard]] std::optional<bool> pingSays(int status, std::string_view printed);
// The number in such a column of /proc/net/snmp ("Ip", "ReasmReqds"), or behind such a name in
// snmp6; 0 if there is none.
[[nodiscard]] std::uint64_t snmpIn(std::string_view text, std::string_view protocol,
                                   std::string_view name);
// The state of the connection to that port, in our driver's debugfs file; "": there is none.
[[nodiscard]] std::string connectionIn(std::string_view text, io::View gid);

// What stands in a file of sysfs as a number, decimal or hexadecimal; 0 if it is none.
[[nodiscard]] std::uint64_t numberIn(const std::string &path);

} // namespace openipoib::diagnose
