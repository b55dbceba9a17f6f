// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "fleet/administration.hpp"

#include "fleet/put.hpp"
#include "ib/lrh.hpp"
#include "ib/mad.hpp"

#include <algorithm>

namespace openipoib::fleet
{

namespace
{

constexpr std::size_t methodAt = 3;
constexpr std::size_t statusAt = 4;
constexpr std::size_t dataAt = 56; // behind the headers of RMPP and of the class

constexpr std::uint16_t classPortInfo = 0x01;
constexpr std::uint16_t informInfo = 0x03;
constexpr std::uint16_t pathRecord = 0x35;
constexpr std::uint16_t groupRecord = 0x38;

constexpr std::uint8_t methodDelete = 0x15;
constexpr std::uint8_t methodResponse = 0x80;

constexpr std::uint16_t noRecords = 3 << 8;    // IBA 15.2.1
constexpr std::uint16_t notSupported = 3 << 2; // IBA 13.4.7: method and attribute

constexpr std::uint8_t exactly = 2 << 6; // selector of MTU, rate and life time
constexpr std::uint8_t mtu4096 = 5;
constexpr std::uint8_t rate10 = 3;
constexpr std::uint8_t lifeTime = 18;
constexpr std::uint32_t qkey = 0x0B1B;

// Into the record of an answer
template <std::size_t N> void putIn(io::Bytes &mad, std::size_t at, std::uint64_t value)
{
    put<N>(mad, dataAt + at, value);
}

ib::Gid gidAt(io::View mad, std::size_t at)
{
    ib::Gid gid{};
    std::ranges::copy(mad.subspan(dataAt + at, gid.size()), gid.begin());
    return gid;
}

} // namespace

void Administration::receive(io::View request, Time now)
{
    const auto mad = ib::Mad::parse(request);
    if (!mad || (static_cast<std::uint8_t>(mad->method) & methodResponse) != 0)
        return;
    ++count_.requests;
    if (mad->attribute == pathRecord)
        ++count_.paths;
    if (mad->attribute == groupRecord && mad->method == ib::Method::set)
        ++count_.joins;
    io::Bytes bytes(request.begin(), request.begin() + ib::Mad::size);
    if (known_.contains(bytes))
        ++count_.again;
    known_.insert(bytes);
    if (waiting_.empty())
        freeAt_ = std::max(freeAt_, now);
    waiting_.push_back(std::move(bytes));
    count_.mostWaiting = std::max(count_.mostWaiting, waiting_.size());
}

std::vector<io::Bytes> Administration::due(Time now)
{
    std::vector<io::Bytes> answers;
    while (!waiting_.empty() && now >= freeAt_) {
        auto reply = answer(waiting_.front());
        if (faults_.spoil(reply))
            ++count_.wrong;
        if (faults_.isTwice()) {
            ++count_.twice;
            answers.push_back(reply);
        }
        answers.push_back(std::move(reply));
        known_.erase(known_.find(waiting_.front()));
        waiting_.pop_front();
        freeAt_ += std::chrono::nanoseconds(std::chrono::seconds(1)) / rate_;
    }
    return answers;
}

// IBA volume 1, section 15.2.5.16. Return: false if there is no such path.
bool Administration::answerPath(io::Bytes &mad) const
{
    const auto lid = find_(gidAt(mad, 8));
    if (!lid)
        return false;
    putIn<2>(mad, 40, *lid);
    putIn<2>(mad, 42, SubnetManager::portLid);
    putIn<1>(mad, 49, 0x80 | 1); // reversible, the only one
    putIn<1>(mad, 54, exactly | mtu4096);
    putIn<1>(mad, 55, exactly | rate10);
    putIn<1>(mad, 56, exactly | lifeTime);
    return true;
}

// IBA volume 1, section 15.2.5.17.
void Administration::answerGroup(io::Bytes &mad)
{
    const auto next = static_cast<std::uint16_t>(ib::firstMulticastLid + groups_.size());
    putIn<4>(mad, 32, qkey);
    putIn<2>(mad, 36, groups_.try_emplace(gidAt(mad, 0), next).first->second);
    putIn<1>(mad, 38, exactly | mtu4096);
    putIn<1>(mad, 42, exactly | rate10);
    putIn<1>(mad, 43, exactly | lifeTime);
}

io::Bytes Administration::answer(io::View request)
{
    const auto mad = ib::Mad::parse(request);
    const auto method = static_cast<std::uint8_t>(mad->method);
    io::Bytes reply(request.begin(), request.end());
    std::uint16_t status = 0;
    reply[methodAt] = method == methodDelete ? methodDelete | methodResponse
                                             : static_cast<std::uint8_t>(ib::Method::getResp);
    if (mad->attribute == pathRecord)
        status = answerPath(reply) ? 0 : noRecords;
    else if (mad->attribute == groupRecord)
        answerGroup(reply);
    else if (mad->attribute != classPortInfo && mad->attribute != informInfo)
        status = notSupported;
    if (mad->attribute == classPortInfo)
        putIn<2>(reply, 0, 0x0102); // versions
    reply[statusAt] = static_cast<std::uint8_t>(status >> 8);
    reply[statusAt + 1] = static_cast<std::uint8_t>(status);
    return reply;
}

} // namespace openipoib::fleet
