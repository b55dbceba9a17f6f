// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "records.hpp"

#include <algorithm>
#include <cstring>
#include <random>

// libFuzzer's own mutation of octets
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);

namespace openipoib::kfuzz
{

std::vector<Record> recordsOf(io::View input)
{
    std::vector<Record> found((input.size() + recordSize - 1) / recordSize);
    if (!input.empty())
        std::memcpy(static_cast<void *>(found.data()), input.data(), input.size());
    return found;
}

namespace
{

class Mutation
{
  public:
    Mutation(std::uint8_t *data, std::size_t size, std::size_t most, unsigned seed, unsigned kinds)
        : records_(recordsOf({data, size})), most_(most / recordSize), kinds_(kinds), random_(seed)
    {
    }

    void step()
    {
        switch (below(9)) {
        case 0:
        case 1:
            return insert(fresh());
        case 2:
            return erase();
        case 3:
            return records_.empty() ? insert(fresh()) : insert(records_[below(records_.size())]);
        case 4:
            return repeat();
        case 5:
            return exchange();
        default:
            return change();
        }
    }

    std::size_t result(std::uint8_t *data) const
    {
        const std::size_t size = records_.size() * recordSize;
        if (size)
            std::memcpy(data, records_.data(), size);
        return size;
    }

  private:
    std::size_t below(std::size_t limit) { return random_() % limit; }

    std::uint8_t octet() { return static_cast<std::uint8_t>(random_() >> 3); }

    // Small numbers mean slots that other records use as well.
    Record fresh()
    {
        Record record;
        for (std::uint8_t &one : record.octets)
            one = below(2) ? static_cast<std::uint8_t>(octet() & 3) : octet();
        record.octets[0] = static_cast<std::uint8_t>(below(kinds_));
        return record;
    }

    void insert(const Record &record)
    {
        if (records_.size() >= most_)
            return change();
        const auto at = static_cast<std::ptrdiff_t>(below(records_.size() + 1));
        records_.insert(records_.begin() + at, record);
    }

    void erase()
    {
        if (records_.size() < 2)
            return change();
        const std::size_t first = below(records_.size());
        const std::size_t count = 1 + below(std::min<std::size_t>(4, records_.size() - first));
        const auto from = records_.begin() + static_cast<std::ptrdiff_t>(first);
        records_.erase(from, from + static_cast<std::ptrdiff_t>(count));
    }

    // One record several times over: rings go round, windows close.
    void repeat()
    {
        if (records_.empty())
            return insert(fresh());
        const std::size_t at = below(records_.size());
        const std::size_t room = most_ > records_.size() ? most_ - records_.size() : 0;
        const Record record = records_[at];
        records_.insert(records_.begin() + static_cast<std::ptrdiff_t>(at),
                        std::min<std::size_t>(room, 1 + below(20)), record);
    }

    void exchange()
    {
        if (records_.size() > 1)
            std::swap(records_[below(records_.size())], records_[below(records_.size())]);
    }

    void change()
    {
        if (records_.empty())
            return insert(fresh());
        Record &record = records_[below(records_.size())];
        std::uint8_t &one = record.octets[below(recordSize)];
        switch (below(4)) {
        case 0:
            one = octet();
            break;
        case 1:
            one = static_cast<std::uint8_t>(one ^ 1u << below(8));
            break;
        case 2:
            one = static_cast<std::uint8_t>(below(2) ? one + 1 : one - 1);
            break;
        default:
            record.octets[0] = static_cast<std::uint8_t>(below(kinds_));
        }
    }

    std::vector<Record> records_;
    std::size_t most_;
    unsigned kinds_;
    std::minstd_rand random_;
};

} // namespace

std::size_t mutate(std::uint8_t *data, std::size_t size, std::size_t most, unsigned seed,
                   unsigned kinds)
{
    if (seed % 10 == 0)
        return LLVMFuzzerMutate(data, size, most);
    Mutation mutation(data, size, most, seed, kinds);
    for (unsigned step = 0; step <= seed / 10 % 4; ++step)
        mutation.step();
    return mutation.result(data);
}

} // namespace openipoib::kfuzz
