// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "uverbs.hpp"

#include "guard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::uint64_t pageSize = 4096;

std::uint64_t addressOf(const void *p)
{
    return reinterpret_cast<std::uintptr_t>(p);
}

// Commands whose structure does not begin with the place of the answer
bool hasNoAnswer(std::uint32_t number)
{
    switch (number) {
    case IB_USER_VERBS_CMD_DEALLOC_PD:
    case IB_USER_VERBS_CMD_DEREG_MR:
    case IB_USER_VERBS_CMD_REQ_NOTIFY_CQ:
    case IB_USER_VERBS_CMD_MODIFY_QP:
    case IB_USER_VERBS_CMD_MODIFY_SRQ:
    case IB_USER_VERBS_CMD_DESTROY_AH:
    case IB_USER_VERBS_CMD_ATTACH_MCAST:
    case IB_USER_VERBS_CMD_DETACH_MCAST:
        return true;
    default:
        return false;
    }
}

} // namespace

Mapping::Mapping(int fd, std::uint64_t offset, std::size_t size)
    : size_((size + pageSize - 1) / pageSize * pageSize)
{
    void *memory =
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    memory_ = memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t *>(memory);
}

Mapping &Mapping::operator=(Mapping &&other) noexcept
{
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    return *this;
}

Mapping::~Mapping()
{
    if (memory_)
        munmap(memory_, size_);
}

int uverbsOf(const std::string &hca)
{
    std::error_code error;
    for (const auto &entry :
         std::filesystem::directory_iterator("/sys/class/infiniband_verbs", error)) {
        std::ifstream in(entry.path() / "ibdev");
        std::string name;
        if (in >> name; name == hca)
            return std::atoi(entry.path().filename().string().substr(6).c_str());
    }
    return -1;
}

Uverbs Uverbs::open(int number)
{
    Uverbs opened;
    const std::string path = "/dev/infiniband/uverbs" + std::to_string(number);
    opened.fd_ = io::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!opened.fd_)
        return opened;
    ib_uverbs_get_context in{};
    ib_uverbs_get_context_resp out{};
    if (opened.command(IB_USER_VERBS_CMD_GET_CONTEXT, in, out)) {
        opened.fd_ = io::UniqueFd();
        return opened;
    }
    opened.events_ = io::UniqueFd(static_cast<int>(out.async_fd));
    fcntl(opened.events(), F_SETFL, O_NONBLOCK);
    return opened;
}

int Uverbs::byWrite(std::uint32_t number, io::View in, std::size_t answerSize) const
{
    ib_uverbs_cmd_hdr header{};
    header.command = number;
    header.in_words = static_cast<std::uint16_t>((sizeof(header) + in.size()) / 4);
    header.out_words = static_cast<std::uint16_t>(answerSize / 4);
    io::Bytes octets(sizeof(header) + in.size());
    std::memcpy(octets.data(), &header, sizeof(header));
    std::memcpy(octets.data() + sizeof(header), in.data(), in.size());
    return write(fd(), octets.data(), octets.size()) < 0 ? errno : 0;
}

int Uverbs::byIoctl(std::uint32_t number, io::View in, io::Bytes &answer, std::size_t outSize) const
{
    std::vector<ib_uverbs_attr> attributes;
    const auto add = [&](std::uint16_t id, std::size_t size, std::uint64_t data) {
        ib_uverbs_attr &one = attributes.emplace_back();
        one.attr_id = id;
        one.len = static_cast<std::uint16_t>(size);
        one.flags = UVERBS_ATTR_F_MANDATORY;
        one.data = data;
    };
    add(UVERBS_ATTR_WRITE_CMD, sizeof(std::uint64_t), number);
    add(UVERBS_ATTR_CORE_IN, in.size(), addressOf(in.data()));
    if (outSize)
        add(UVERBS_ATTR_CORE_OUT, outSize, addressOf(answer.data()));
    if (answer.size() > outSize)
        add(UVERBS_ATTR_UHW_OUT, answer.size() - outSize, addressOf(answer.data() + outSize));
    const std::size_t size = attributes.size() * sizeof(ib_uverbs_attr);
    ib_uverbs_ioctl_hdr header{};
    header.length = static_cast<std::uint16_t>(sizeof(header) + size);
    header.object_id = UVERBS_OBJECT_DEVICE;
    header.method_id = UVERBS_METHOD_INVOKE_WRITE;
    header.num_attrs = static_cast<std::uint16_t>(attributes.size());
    header.driver_id = RDMA_DRIVER_HFI1;
    io::Bytes call(sizeof(header) + size);
    std::memcpy(call.data(), &header, sizeof(header));
    std::memcpy(call.data() + sizeof(header), attributes.data(), size);
    return ioctl(fd(), RDMA_VERBS_IOCTL, call.data()) < 0 ? errno : 0;
}

int Uverbs::run(std::uint32_t number, const void *in, std::size_t inSize, void *out,
                std::size_t outSize, std::uint64_t *offset, bool viaIoctl) const
{
    io::Bytes octets(inSize);
    io::Bytes answer(outSize + (offset ? sizeof(*offset) : 0));
    std::memcpy(octets.data(), in, inSize);
    const std::uint64_t place = addressOf(answer.data());
    if (!hasNoAnswer(number) && inSize >= sizeof(place))
        std::memcpy(octets.data(), &place, sizeof(place));
    const int error = viaIoctl ? byIoctl(number, octets, answer, outSize)
                               : byWrite(number, octets, answer.size());
    if (error)
        return error;
    if (outSize)
        std::memcpy(out, answer.data(), outSize);
    if (offset)
        std::memcpy(offset, answer.data() + outSize, sizeof(*offset));
    return 0;
}

void Uverbs::writeRaw(std::uint32_t number, io::View octets, std::uint16_t outWords) const
{
    static std::array<std::uint8_t, 4096> answer; // what comes there is of no interest
    const std::uint64_t place = addressOf(answer.data());
    io::Bytes whole(sizeof(ib_uverbs_cmd_hdr));
    const ib_uverbs_cmd_hdr header{number,
                                   static_cast<std::uint16_t>((sizeof(header) + octets.size()) / 4),
                                   static_cast<std::uint16_t>(outWords % (answer.size() / 4))};
    std::memcpy(whole.data(), &header, sizeof(header));
    io::append(whole, octets);
    // Otherwise next to nothing would get further than to an address that is none.
    if (!hasNoAnswer(number & IB_USER_VERBS_CMD_COMMAND_MASK) && octets.size() >= sizeof(place))
        std::memcpy(whole.data() + sizeof(header), &place, sizeof(place));
    static_cast<void>(!write(fd(), whole.data(), whole.size()));
}

void Uverbs::ioctlRaw(io::View octets) const
{
    io::Bytes whole(octets.begin(), octets.end());
    whole.resize(std::max(whole.size(), sizeof(ib_uverbs_ioctl_hdr)));
    ib_uverbs_ioctl_hdr header;
    std::memcpy(&header, whole.data(), sizeof(header));
    header.length = static_cast<std::uint16_t>(whole.size());
    header.num_attrs =
        static_cast<std::uint16_t>((whole.size() - sizeof(header)) / sizeof(ib_uverbs_attr));
    header.reserved1 = 0;
    header.reserved2 = 0;
    header.driver_id = RDMA_DRIVER_HFI1;
    std::memcpy(whole.data(), &header, sizeof(header));
    ioctl(fd(), RDMA_VERBS_IOCTL, whole.data());
}

} // namespace openipoib::kfuzz
