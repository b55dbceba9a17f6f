// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The kernel's interface to verbs as it is, without a library that checks what it is given:
// commands by write() or by ioctl(), and queues in mapped memory.
#pragma once

#include "io/bytes.hpp"
#include "io/unique_fd.hpp"

#include <cstdint>
#include <cstring>
#include <rdma/ib_user_verbs.h>
#include <rdma/rvt-abi.h>
#include <string>
#include <utility>

namespace openipoib::kfuzz
{

// Memory of a queue that the kernel offers
class Mapping
{
  public:
    Mapping() = default;
    Mapping(int fd, std::uint64_t offset, std::size_t size);
    Mapping(Mapping &&other) noexcept { *this = std::move(other); }
    Mapping &operator=(Mapping &&other) noexcept;
    ~Mapping();

    explicit operator bool() const { return memory_ != nullptr; }
    [[nodiscard]] std::uint8_t *data() const { return memory_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] volatile std::uint32_t &head() const { return word(0); }
    [[nodiscard]] volatile std::uint32_t &tail() const { return word(1); }
    [[nodiscard]] volatile std::uint32_t &word(std::size_t i) const
    {
        return reinterpret_cast<volatile std::uint32_t *>(memory_)[i];
    }

  private:
    std::uint8_t *memory_ = nullptr;
    std::size_t size_ = 0;
};

// The number of the uverbs device of an HCA, or -1
[[nodiscard]] int uverbsOf(const std::string &hca);

// A process's file of a device. A command returns 0 or an errno.
class Uverbs
{
  public:
    // Open /dev/infiniband/uverbsN and get a context.
    static Uverbs open(int number);

    Uverbs() = default;
    explicit operator bool() const { return static_cast<bool>(fd_); }
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] int events() const { return events_.get(); }

    // in:     the command's structure; if it begins with where the answer is to go, that
    //         is filled in here
    // out:    the answer
    // offset: where the driver says where its queue can be mapped, if it is wanted
    template <typename In, typename Out>
    int command(std::uint32_t number, const In &in, Out &out, std::uint64_t *offset = nullptr,
                bool byIoctl = false) const
    {
        return run(number, &in, sizeof(in), &out, sizeof(out), offset, byIoctl);
    }
    template <typename In> int command(std::uint32_t number, const In &in) const
    {
        return run(number, &in, sizeof(in), nullptr, 0, nullptr, false);
    }
    // With more octets after the structure, as for posting.
    template <typename Out>
    int command(std::uint32_t number, io::View in, Out &out, bool byIoctl = false) const
    {
        return run(number, in.data(), in.size(), &out, sizeof(out), nullptr, byIoctl);
    }

    // Octets as they are.
    void writeRaw(std::uint32_t number, io::View octets, std::uint16_t outWords) const;
    void ioctlRaw(io::View octets) const;

  private:
    int run(std::uint32_t number, const void *in, std::size_t inSize, void *out,
            std::size_t outSize, std::uint64_t *offset, bool byIoctl) const;
    int byWrite(std::uint32_t number, io::View in, std::size_t answerSize) const;
    int byIoctl(std::uint32_t number, io::View in, io::Bytes &answer, std::size_t outSize) const;

    io::UniqueFd fd_;
    io::UniqueFd events_;
};

} // namespace openipoib::kfuzz
