// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A process that uses verbs of one HCA: what it has made, by slots that the records of an
// input name. What a record needs and is not there is made on the way, so that most
// sequences get far. It keeps account of its requests: each completes once at most.
#pragma once

#include "arena.hpp"
#include "records.hpp"
#include "uverbs.hpp"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace openipoib::kfuzz
{

inline constexpr std::uint32_t qkey = 0x11;
inline constexpr std::uint16_t groupLid = 0xC001;

// The table of P_Keys of every port, see subnet.hpp: full and limited members
inline constexpr std::uint16_t pkeys[] = {0xFFFF, 0x8001, 0x0002, 0x8002};

struct Cq {
    std::uint32_t handle = 0;
    std::uint32_t entries = 0;
    std::uint64_t offset = 0; // by which it can be mapped
    Mapping map;
    bool spoilt = false; // written to as no process should: nothing it says is held against it
};

// A receive queue, of a QP or shared
struct Rq {
    std::uint64_t id = 0;
    std::uint32_t entries = 0;
    std::uint32_t sges = 0;
    std::uint64_t offset = 0;
    Mapping map;

    [[nodiscard]] std::size_t bytes() const { return 8 + stride() * (entries + 1); }
    [[nodiscard]] std::size_t stride() const
    {
        return sizeof(rvt_rwqe) + sges * sizeof(rvt_wqe_sge);
    }
};

struct Srq {
    std::uint32_t handle = 0;
    Rq rq;
};

struct Qp {
    std::uint32_t handle = 0;
    std::uint32_t number = 0;
    std::uint8_t type = 0;
    std::uint8_t state = 0; // as it should be
    std::uint32_t sges = 0; // of a send request
    Rq rq;                  // without a mapping if it has an SRQ
    int srq = -1;
};

struct Mr {
    std::uint32_t handle = 0;
    std::uint32_t key = 0;
    std::size_t offset = 0; // in the arena
    std::size_t length = 0;
    std::uint64_t iova = 0;
    std::uint32_t access = 0;
    bool live = false; // the key of one that is gone is still used
};

// What all processes of an input know of each other
struct Shared {
    struct Request {
        std::uint64_t queue = 0; // Rq::id, 0 for a send
        bool completed = false;
    };
    // P_Keys that QPs of a number have ever had
    std::map<std::uint32_t, std::set<std::uint16_t>> pkeysOf;
    // Numbers of QPs of the connected services: a packet of theirs does not say which QP
    // has sent it (IBA 9.2), and a completion only which one is configured.
    std::set<std::uint32_t> connected;
    std::map<std::uint64_t, Request> requests;
    std::set<std::uint64_t> spoilt; // receive queues, by Rq::id
    std::uint64_t next = 1;
    bool believes = true; // false once two processes use one queue
    // Whoever sends is one of these processes: a number of a QP says which.
    bool knowsSenders = false;
};

class Process
{
  public:
    static constexpr unsigned pds = 4, cqs = 8, qps = 8, srqs = 4, mrs = 8, ahs = 8;

    Process(std::string hca, std::uint16_t lid, std::uint16_t peerLid, Shared &shared);

    // The file, opened if need be; false if that is impossible.
    bool ready();
    void close();
    [[nodiscard]] const Uverbs &file() const { return file_; }
    [[nodiscard]] const Arena &arena() const { return arena_; }

    // Making and ending; slots are taken modulo how many there are.
    bool pd(unsigned slot);
    void deallocPd(unsigned slot);
    Cq *cq(unsigned slot, std::uint32_t entries = 32, bool events = false, bool byIoctl = false);
    void resizeCq(unsigned slot, std::uint32_t entries);
    void destroyCq(unsigned slot);
    void notifyCq(unsigned slot, bool solicited);
    Srq *srq(unsigned slot, std::uint32_t entries = 16, std::uint32_t sges = 2);
    void modifySrq(unsigned slot, std::uint32_t limit);
    void querySrq(unsigned slot);
    void destroySrq(unsigned slot);
    struct MrWish {
        unsigned slot = 0, pd = 0;
        std::size_t offset = 0, length = 4096;
        std::optional<std::uint64_t> iova = std::nullopt; // else as the address
        std::uint32_t access = 0xF; // local and remote write, remote read, atomic
    };
    Mr *mr(const MrWish &wish);
    Mr *mr(unsigned slot);
    void reregister(const MrWish &wish, std::uint32_t flags);
    void deregister(unsigned slot);
    struct QpWish {
        unsigned slot = 0, pd = 0, sendCq = 0, recvCq = 1;
        int srq = -1;
        std::uint8_t type = 2; // RC
        std::uint32_t sends = 16, recvs = 16, sges = 2, recvSges = 2, inlined = 0;
        bool signalAll = false, byIoctl = false;
    };
    Qp *qp(const QpWish &wish);
    Qp *qp(unsigned slot, std::uint8_t type = 2);
    int modify(Qp &qp, ib_uverbs_modify_qp attributes);
    void queryQp(unsigned slot);
    void destroyQp(unsigned slot);
    std::optional<std::uint32_t> ah(unsigned slot);
    void destroyAh(unsigned slot);
    void attach(unsigned slot, unsigned group, bool detach);

    // Work
    void postSend(const Record &record, const Process &peer);
    void postRecv(const Record &record);
    void postRecv(Rq &rq, unsigned slot, unsigned count, std::uint8_t where);
    void poll(unsigned slot);
    void readEvents() const;
    void scribble(const Record &record);
    void remap(const Record &record);

    [[nodiscard]] const Mr *known(unsigned slot) const;
    [[nodiscard]] std::uint32_t number(unsigned slot) const;
    [[nodiscard]] const std::array<std::uint8_t, 16> &gid() const { return gid_; }
    Qp *existing(unsigned slot) { return qps_[slot % qps] ? &*qps_[slot % qps] : nullptr; }
    [[nodiscard]] std::uint16_t lid() const { return lid_; }
    [[nodiscard]] std::uint16_t peerLid() const { return peerLid_; }

  private:
    ib_uverbs_sge entry(unsigned slot, std::uint8_t where, std::size_t usual);
    bool receives(Rq &rq, std::uint32_t entries, std::uint32_t sges, std::uint64_t offset);
    io::Bytes sendCommand(const Record &record, const Process &peer, Qp &target);
    void fillRemote(ib_uverbs_send_wr &wr, const Record &record, const Process &peer);
    void completed(const ib_uverbs_wc &wc);
    void checkPkeys(const ib_uverbs_wc &wc) const;
    void forget(Mr &region);

    std::string hca_;
    std::uint16_t lid_, peerLid_;
    std::array<std::uint8_t, 16> gid_{};
    Shared &shared_;
    Arena arena_;
    int device_ = -1;
    Uverbs file_;
    io::UniqueFd channel_;
    std::array<std::optional<std::uint32_t>, pds> pds_;
    std::array<std::optional<Cq>, cqs> cqs_;
    std::array<std::optional<Srq>, srqs> srqs_;
    std::array<Mr, mrs> mrs_;
    std::array<std::optional<Qp>, qps> qps_;
    std::array<std::optional<std::uint32_t>, ahs> ahs_;
    // Queues mapped again, in ways that are right or wrong
    std::vector<Mapping> others_;
};

} // namespace openipoib::kfuzz
