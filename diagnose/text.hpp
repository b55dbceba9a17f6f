// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Values as people write them.
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace openipoib::diagnose
{

// "fe80::5054:ff:fe1b:100", also of an MGID; "?" if it is none
[[nodiscard]] std::string gidText(io::View gid);
// Of 32 hexadecimal digits; empty if it is none
[[nodiscard]] io::Bytes gidIn(const std::string &text);
// Of the port that has the GID; 0 if it is none
[[nodiscard]] std::uint64_t guidOf(io::View gid);
[[nodiscard]] std::string addressText(io::View address); // of 4 or 16 bytes; "?" if it is none
// Of a node or port, as it describes itself: whoever is asked may send any octets
[[nodiscard]] std::string descriptionText(std::string_view octets);
[[nodiscard]] std::string pkeyText(std::uint16_t pkey); // "0x8001"
[[nodiscard]] std::string errorText(int code);          // of an errno
// Octets, of PortInfo's code; 0 if it is none
[[nodiscard]] unsigned mtuOf(std::uint8_t code);
// Of IP in a group of that code: IPoIB puts four octets before each packet. 0 if it is none
[[nodiscard]] unsigned ipMtuOf(std::uint8_t code);
// Mbit/s, of the code of a rate, as rateIn() has it of a link of that rate; 0 if it is none
[[nodiscard]] unsigned rateOf(std::uint8_t code);
// Mbit/s, of sysfs' "2.5 Gb/sec (1X SDR)"; 0 if it is none
[[nodiscard]] unsigned rateIn(const std::string &text);
[[nodiscard]] std::string rateText(unsigned mbit); // "40 Gb/s"

} // namespace openipoib::diagnose
