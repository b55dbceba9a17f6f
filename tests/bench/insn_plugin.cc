// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A plugin of QEMU's TCG that counts what a guest's kernel executes, by tree of calls.
//
// usage: -plugin insn-plugin.so,out=FILE,entries=FILE
//
// Counting starts and stops with a mark, which is an instruction of insn-probe's. When it
// stops, the tree is appended to `out`:
//
//   window USER            instructions of user space
//   node ID PARENT ENTRY   a function that was called, by its address; the root is 0
//   count ID ADDRESS INSNS COPIED ZEROED
//                          of the code from ADDRESS on, which is a jump away from the
//                          function's entry at most: instructions, and octets that string
//                          instructions copied and set, which count no instructions
//
// `entries` is read at the first mark: a line "interrupt ADDRESS" for each way into the
// kernel that interrupts it, and "switch ADDRESS" for where it changes stacks. Calls of a
// processor that has changed stacks are not followed back.
//
// For a guest with one processor, of x86-64. QEMU 7.2, plugin API version 1, for which
// Debian has no header.
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

extern "C" {
using PluginId = std::uint64_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;
void qemu_plugin_register_vcpu_tb_trans_cb(PluginId, void (*)(PluginId, qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb *, void (*)(unsigned, void *), int flags,
                                          void *);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn *, void (*)(unsigned, void *),
                                            int flags, void *);
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *, std::size_t);
const void *qemu_plugin_insn_data(const qemu_plugin_insn *);
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn *);
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn *);

[[gnu::visibility("default")]] extern const int qemu_plugin_version;
[[gnu::visibility("default")]] int qemu_plugin_install(PluginId id, const qemu_info_t *info,
                                                       int argc, char **argv);
}

namespace
{

using Address = std::uint64_t;
using Code = std::span<const std::uint8_t>;
using NodeId = std::uint32_t;

constexpr NodeId root = 0;
// nopl 0x544e4349(%rax)
constexpr std::array<std::uint8_t, 7> markCode{0x0f, 0x1f, 0x80, 'I', 'C', 'N', 'T'};

enum class End : std::uint8_t { other, call, ret, interruptReturn };
enum class Entry : std::uint8_t { none, interrupt, stackSwitch };

// Code that is executed from its first to its last instruction.
struct Block {
    Address address = 0;
    unsigned insns = 0;
    unsigned copied = 0; // octets each time
    unsigned zeroed = 0;
    End end = End::other;
    Entry entry = Entry::none;
    bool isEntryKnown = false;
    // Where it was counted last.
    NodeId lastNode = 0;
    struct Count *lastCount = nullptr;
};

struct Count {
    std::uint64_t insns = 0;
    std::uint64_t copied = 0;
    std::uint64_t zeroed = 0;
};

// The bare instruction behind prefixes; rep, operand size and REX are noted.
struct Decoded {
    Code opcode;
    bool isRepeated = false;
    unsigned width = 4;
};

Decoded decode(Code code)
{
    Decoded out;
    for (; code.size() > 1; code = code.subspan(1)) {
        const std::uint8_t byte = code[0];
        if (byte == 0xF3 || byte == 0xF2)
            out.isRepeated = true;
        else if (byte == 0x66)
            out.width = 2;
        else if ((byte & 0xF0) == 0x40)
            out.width = (byte & 8) != 0 ? 8 : out.width;
        else if (byte != 0x2E && byte != 0x3E && byte != 0x65 && byte != 0x64)
            break;
    }
    out.opcode = code;
    return out;
}

End endOf(Code opcode)
{
    constexpr unsigned indirectCall = 2;
    switch (opcode[0]) {
    case 0xE8:
        return End::call;
    case 0xFF:
        return opcode.size() > 1 && (opcode[1] >> 3 & 7) == indirectCall ? End::call : End::other;
    case 0xC2:
    case 0xC3:
        return End::ret;
    case 0xCF:
        return End::interruptReturn;
    default:
        return End::other;
    }
}

class Profile
{
  public:
    void setFiles(std::string out, std::string entries)
    {
        outPath_ = std::move(out);
        entriesPath_ = std::move(entries);
    }

    Block *add(Address address, std::size_t insns, Code last)
    {
        auto &block = *blocks_.emplace_back(std::make_unique<Block>());
        block.address = address;
        block.insns = static_cast<unsigned>(insns);
        const Decoded decoded = decode(last);
        block.end = endOf(decoded.opcode);
        const std::uint8_t operation = decoded.opcode[0] & 0xFE;
        const unsigned width = (decoded.opcode[0] & 1) != 0 ? decoded.width : 1;
        if (decoded.isRepeated && operation == 0xA4)
            block.copied = width;
        else if (decoded.isRepeated && operation == 0xAA)
            block.zeroed = width;
        if (block.copied + block.zeroed != 0)
            --block.insns;
        return &block;
    }

    void mark()
    {
        if (isCounting_)
            write();
        else
            start();
        isCounting_ = !isCounting_;
    }

    void execute(Block &block)
    {
        if (!isCounting_)
            return;
        constexpr Address kernel = Address{1} << 63;
        if ((block.address & kernel) == 0) {
            userInsns_ += block.insns;
            wasUser_ = true;
            return;
        }
        enter(block);
        count(block);
        leave(block);
    }

  private:
    struct Frame {
        NodeId node;
        bool isInterrupted;
    };
    struct Node {
        NodeId parent;
        Address entry;
    };

    void enter(Block &block)
    {
        if (!block.isEntryKnown) {
            const auto found = entries_.find(block.address);
            block.entry = found == entries_.end() ? Entry::none : found->second;
            block.isEntryKnown = true;
        }
        if (wasUser_ || block.entry == Entry::stackSwitch) {
            stack_.clear();
            current_ = child(root, block.address);
        } else if (block.entry == Entry::interrupt) {
            stack_.push_back({current_, true});
            current_ = child(root, block.address);
        } else if (isCalled_) {
            current_ = child(current_, block.address);
        }
        wasUser_ = false;
        isCalled_ = false;
    }

    void count(Block &block)
    {
        if (block.lastCount == nullptr || block.lastNode != current_) {
            block.lastNode = current_;
            block.lastCount = &counts_[{current_, block.address}];
        }
        block.lastCount->insns += block.insns;
        block.lastCount->copied += block.copied;
        block.lastCount->zeroed += block.zeroed;
    }

    void leave(const Block &block)
    {
        if (block.end == End::call) {
            stack_.push_back({current_, false});
            isCalled_ = true;
        } else if (block.end == End::ret) {
            pop();
        } else if (block.end == End::interruptReturn) {
            while (!pop()) {
            }
        }
    }

    // Whether it was an interrupted function's, or there is none.
    bool pop()
    {
        if (stack_.empty()) {
            current_ = root;
            return true;
        }
        const Frame frame = stack_.back();
        stack_.pop_back();
        current_ = frame.node;
        return frame.isInterrupted;
    }

    NodeId child(NodeId parent, Address entry)
    {
        const auto [found, isNew] =
            children_.try_emplace({parent, entry}, static_cast<NodeId>(nodes_.size()));
        if (isNew)
            nodes_.push_back({parent, entry});
        return found->second;
    }

    void start()
    {
        if (entries_.empty())
            readEntries();
        nodes_.assign(1, {root, 0});
        children_.clear();
        counts_.clear();
        for (auto &block : blocks_)
            block->lastCount = nullptr;
        stack_.clear();
        current_ = root;
        userInsns_ = 0;
        wasUser_ = true;
        isCalled_ = false;
    }

    void readEntries()
    {
        std::ifstream file(entriesPath_);
        std::string kind;
        Address address = 0;
        while (file >> kind >> std::hex >> address)
            entries_[address] = kind == "interrupt" ? Entry::interrupt : Entry::stackSwitch;
    }

    void write()
    {
        std::ofstream out(outPath_, std::ios::app);
        out << "window " << userInsns_ << '\n';
        for (NodeId id = 0; id < nodes_.size(); ++id)
            out << "node " << id << ' ' << nodes_[id].parent << ' ' << std::hex << nodes_[id].entry
                << std::dec << '\n';
        for (const auto &[where, count] : counts_)
            out << "count " << where.first << ' ' << std::hex << where.second << std::dec << ' '
                << count.insns << ' ' << count.copied << ' ' << count.zeroed << '\n';
    }

    std::string outPath_;
    std::string entriesPath_;
    std::vector<std::unique_ptr<Block>> blocks_; // QEMU keeps what it was given for ever
    std::unordered_map<Address, Entry> entries_;

    bool isCounting_ = false;
    std::vector<Node> nodes_;
    std::map<std::pair<NodeId, Address>, NodeId> children_;
    std::map<std::pair<NodeId, Address>, Count> counts_;
    std::vector<Frame> stack_;
    NodeId current_ = root;
    std::uint64_t userInsns_ = 0;
    bool wasUser_ = false;  // the block before was user space's
    bool isCalled_ = false; // the block before ended with a call
};

Profile &profile()
{
    static Profile instance;
    return instance;
}

Code codeOf(const qemu_plugin_insn *insn)
{
    return {static_cast<const std::uint8_t *>(qemu_plugin_insn_data(insn)),
            qemu_plugin_insn_size(insn)};
}

void onExecuted(unsigned /*cpu*/, void *block)
{
    profile().execute(*static_cast<Block *>(block));
}

void onMark(unsigned /*cpu*/, void * /*data*/)
{
    profile().mark();
}

void onTranslated(PluginId /*id*/, qemu_plugin_tb *tb)
{
    constexpr int noRegisters = 0;
    const std::size_t insns = qemu_plugin_tb_n_insns(tb);
    const qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    const qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, insns - 1);
    qemu_plugin_register_vcpu_tb_exec_cb(
        tb, onExecuted, noRegisters,
        profile().add(qemu_plugin_insn_vaddr(first), insns, codeOf(last)));
    for (std::size_t i = 0; i < insns; ++i) {
        qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const Code code = codeOf(insn);
        if (code.size() == markCode.size() &&
            std::memcmp(code.data(), markCode.data(), code.size()) == 0)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, onMark, noRegisters, nullptr);
    }
}

// The value of an argument NAME=VALUE; empty if it is another.
std::string_view valueOf(std::string_view argument, std::string_view name)
{
    if (!argument.starts_with(name) || argument.substr(name.size(), 1) != "=")
        return {};
    return argument.substr(name.size() + 1);
}

} // namespace

const int qemu_plugin_version = 1;

int qemu_plugin_install(PluginId id, const qemu_info_t * /*info*/, int argc, char **argv)
{
    std::string_view out;
    std::string_view entries;
    for (const char *argument : std::span(argv, static_cast<std::size_t>(argc))) {
        if (const auto value = valueOf(argument, "out"); !value.empty())
            out = value;
        if (const auto value = valueOf(argument, "entries"); !value.empty())
            entries = value;
    }
    if (out.empty() || entries.empty())
        return -1;
    profile().setFiles(std::string(out), std::string(entries));
    qemu_plugin_register_vcpu_tb_trans_cb(id, onTranslated);
    return 0;
}
