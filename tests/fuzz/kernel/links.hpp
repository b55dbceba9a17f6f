// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What root does to HCAs and network devices: `rdma link add|del`, devices that come, go,
// move and change. Nothing here says whether it has worked: that is the kernel's affair.
#pragma once

#include "io/bytes.hpp"
#include "io/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace openipoib::kfuzz
{

class Links
{
  public:
    Links();

    void add(const std::string &hca, const std::string &netdev) const;
    void remove(const std::string &hca) const;

    void makePair(const std::string &name, const std::string &peer) const;
    void makeDummy(const std::string &name) const;
    void removeDevice(const std::string &name) const;
    // Into the network namespace that this file is of
    void move(const std::string &name, int nameSpace) const;
    void setUp(const std::string &name, bool up) const;
    void setMtu(const std::string &name, unsigned mtu) const;
    void setAddress(const std::string &name, std::uint8_t last) const;
    // A tap device, which lives as long as its file
    [[nodiscard]] io::UniqueFd makeTap(const std::string &name) const;
    void setType(const io::UniqueFd &tap, unsigned type) const;

    // The network namespace of this thread, and a new one; neither is entered.
    [[nodiscard]] int home() const { return home_.get(); }
    [[nodiscard]] int away() const { return away_.get(); }
    // Do the next things in this one.
    void enter(int nameSpace) const;

  private:
    [[nodiscard]] int index(const std::string &name) const;
    void ask(int protocol, std::uint16_t type, std::uint16_t flags, io::View content) const;

    io::UniqueFd home_, away_;
};

} // namespace openipoib::kfuzz
