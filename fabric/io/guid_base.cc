// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/guid_base.hpp"

#include "udp/mac.hpp"

#include <systemd/sd-id128.h>

#include <filesystem>

namespace openipoib::fabric
{

namespace
{

// Which use of the machine's id this is: sd_id128_get_machine_app_specific(3).
constexpr sd_id128_t guidsOfFabrics{.bytes = {0xa5, 0x4e, 0x90, 0x1d, 0x3c, 0x77, 0x4b, 0x62, 0x9f,
                                              0x05, 0xe8, 0x6b, 0x21, 0xd0, 0x48, 0x3a}};

} // namespace

// Locally administered: the first byte has bit 1 set, and bit 0 not. 24 bits are left for
// nodes and their ports.
std::uint64_t guidBase(io::View machine, std::string_view place)
{
    const Mac::Code hash =
        Mac(machine).of({reinterpret_cast<const std::uint8_t *>(place.data()), place.size()});
    constexpr std::uint64_t kind = 0x03'0000'0000;
    constexpr std::uint64_t local = 0x02'0000'0000;
    return ((io::read<5>(hash, 0) & ~kind) | local) << 24;
}

std::uint64_t guidBaseOfFile(const std::string &file)
{
    sd_id128_t machine{};
    if (sd_id128_get_machine_app_specific(guidsOfFabrics, &machine) < 0)
        sd_id128_randomize(&machine);
    std::error_code error; // a file without a name of its own has been read
    const auto place = std::filesystem::canonical(file, error);
    return guidBase(machine.bytes, error ? file : place.string());
}

std::uint64_t guidBaseOfWord(std::string_view word)
{
    return guidBase(guidsOfFabrics.bytes, word);
}

} // namespace openipoib::fabric
