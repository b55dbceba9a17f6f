// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two processes and what their records say: the grammar of the target `verbs`.
#pragma once

#include "coverage.hpp"
#include "process.hpp"

namespace openipoib::kfuzz
{

class Conversation
{
  public:
    // What the first octet of a record may say
    static constexpr unsigned kinds = 36;

    // Both HCAs stay; what the processes make of them is of one input.
    explicit Conversation(Coverage &coverage);

    // Run an input; in the end nothing of it is left.
    void run(Records records);

  private:
    void one(Records rest);
    void make(const Record &record);
    void end(const Record &record);
    void work(const Record &record);
    void makeQp(const Record &record);
    void connect(const Record &record);
    void change(const Record &record);
    void transact(const Record &record);
    void region(const Record &record);
    void childRuns(Records records);
    void reap();
    void step(Process &process, Qp &qp, const Qp &peer, std::uint8_t state, const Record &record);
    void finish();

    [[nodiscard]] Process &side(const Record &record) { return record[1] & 1 ? right_ : left_; }
    [[nodiscard]] Process &otherSide(const Record &record)
    {
        return record[1] & 1 ? left_ : right_;
    }

    Coverage &coverage_;
    Shared shared_;
    Process left_, right_;
    std::size_t skip_ = 0; // records that are not to be run by themselves
    bool isChild_ = false;
    bool isRaw_ = false; // what raw octets have done to regions is not known
    int child_ = -1;
};

} // namespace openipoib::kfuzz
