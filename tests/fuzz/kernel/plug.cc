// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "plug.hpp"

#include "guard.hpp"
#include "io/unique_fd.hpp"
#include "link/header.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::size_t ethernetSize = 14, longestReceived = 65536;

class Device : public Plug
{
  public:
    explicit Device(const std::string &netdev);

    Mac mac() const override { return mac_; }
    void send(io::View frame) override
    {
        ::send(fd_.get(), frame.data(), frame.size(), MSG_DONTWAIT);
    }
    io::View receive() override;
    std::span<std::uint8_t> sent(std::size_t) override { return {}; }

  private:
    io::UniqueFd fd_;
    Mac mac_{};
    std::array<std::uint8_t, longestReceived> buffer_;
};

Device::Device(const std::string &netdev)
    : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))
{
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(link::ethertype);
    address.sll_ifindex = static_cast<int>(if_nametoindex(netdev.c_str()));
    need(fd_ && bind(fd_.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0,
         "a packet socket");
    ifreq request{};
    netdev.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
    need(ioctl(fd_.get(), SIOCGIFHWADDR, &request) == 0, "the address of the cable's end");
    std::copy_n(reinterpret_cast<const std::uint8_t *>(request.ifr_hwaddr.sa_data), mac_.size(),
                mac_.begin());
}

io::View Device::receive()
{
    for (ssize_t size; (size = recv(fd_.get(), buffer_.data(), buffer_.size(), 0)) > 0;) {
        const io::View frame{buffer_.data(), static_cast<std::size_t>(size)};
        // What was sent from here is seen here as well.
        if (frame.size() >= ethernetSize &&
            !std::equal(mac_.begin(), mac_.end() - 1, frame.begin() + mac_.size()))
            return frame;
    }
    return {};
}

class Lender : public Device
{
  public:
    explicit Lender(const std::string &netdev);

    void send(io::View frame) override;
    std::span<std::uint8_t> sent(std::size_t framesAgo) override;

  private:
    // More than an input sends: a frame that is held keeps its octets to itself.
    static constexpr std::size_t slots = 512, slotSize = 16384;

    std::uint8_t *slot(std::size_t i) const { return memory_ + i % slots * slotSize; }

    io::UniqueFd lender_;
    std::uint32_t index_;
    std::uint8_t *memory_ = nullptr;
    std::size_t current_ = 0; // the next slot
};

Lender::Lender(const std::string &netdev)
    : Device(netdev), lender_(::open("/dev/lender", O_RDWR | O_CLOEXEC)),
      index_(if_nametoindex(netdev.c_str()))
{
    need(static_cast<bool>(lender_), "/dev/lender");
    void *memory =
        mmap(nullptr, slots * slotSize, PROT_READ | PROT_WRITE, MAP_SHARED, lender_.get(), 0);
    need(memory != MAP_FAILED, "memory of frames");
    memory_ = static_cast<std::uint8_t *>(memory);
}

void Lender::send(io::View frame)
{
    if (frame.size() < ethernetSize || frame.size() > slotSize)
        return;
    std::ranges::copy(frame, slot(current_));
    const std::uint32_t offset = static_cast<std::uint32_t>(current_ % slots * slotSize);
    const std::uint32_t what[] = {index_, offset, static_cast<std::uint32_t>(frame.size())};
    ++current_;
    need(write(lender_.get(), what, sizeof(what)) == sizeof(what), "a frame that was sent");
}

std::span<std::uint8_t> Lender::sent(std::size_t framesAgo)
{
    if (current_ == 0)
        return {};
    return {slot(current_ - 1 - std::min(framesAgo, current_ - 1)), slotSize};
}

} // namespace

std::unique_ptr<Plug> plugDevice(const std::string &netdev)
{
    return std::make_unique<Device>(netdev);
}

std::unique_ptr<Plug> plugLender(const std::string &netdev)
{
    return std::make_unique<Lender>(netdev);
}

} // namespace openipoib::kfuzz
