// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/packet_filter.hpp"

#include <sys/socket.h>

#include <cstdint>

namespace openipoib::ha
{

namespace
{

sock_filter load(unsigned bytes, std::size_t at)
{
    const auto size = bytes == 1 ? BPF_B : bytes == 2 ? BPF_H : BPF_W;
    return BPF_STMT(static_cast<unsigned short>(BPF_LD | size | BPF_ABS),
                    static_cast<unsigned>(SKF_NET_OFF) + static_cast<unsigned>(at));
}

// Over so many instructions, if what is loaded is @value, or is not.
sock_filter jump(unsigned value, std::uint8_t ifEqual, std::uint8_t ifNot)
{
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, ifEqual, ifNot);
}

sock_filter result(unsigned bytes)
{
    return BPF_STMT(BPF_RET | BPF_K, bytes);
}

} // namespace

PacketFilter &PacketFilter::require(unsigned bytes, std::size_t at, unsigned value)
{
    rules_.insert(rules_.end(), {load(bytes, at), jump(value, 1, 0), result(0)});
    return *this;
}

PacketFilter &PacketFilter::accept(std::size_t at, io::View field)
{
    for (std::size_t done = 0; done < field.size(); done += 4) {
        // Behind what remains of this rule: two instructions a word, and its result
        const auto rest = 2 * (field.size() - done - 4) / 4 + 1;
        rules_.push_back(load(4, at + done));
        rules_.push_back(jump(static_cast<unsigned>(io::read<4>(field, done)), 0,
                              static_cast<std::uint8_t>(rest)));
    }
    rules_.push_back(result(UINT32_MAX));
    return *this;
}

io::Result<void> PacketFilter::attach(const io::UniqueFd &fd, std::string_view what) const
{
    auto rules = rules_;
    rules.push_back(result(0));
    const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
    if (::setsockopt(fd.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0)
        return io::systemFail(what);
    return {};
}

} // namespace openipoib::ha
