// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "topology/parser.hpp"

#include "topology/scanner.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t maxDescription = 64;

constexpr std::array<std::pair<std::string_view, Speed>, 8> speeds{{{"SDR", Speed::sdr},
                                                                    {"DDR", Speed::ddr},
                                                                    {"QDR", Speed::qdr},
                                                                    {"FDR10", Speed::fdr10},
                                                                    {"FDR", Speed::fdr},
                                                                    {"EDR", Speed::edr},
                                                                    {"HDR", Speed::hdr},
                                                                    {"NDR", Speed::ndr}}};

bool validWidth(std::uint64_t width)
{
    return width == 1 || width == 2 || width == 4 || width == 8 || width == 12;
}

class Parser
{
  public:
    Parser(std::string file, const std::optional<std::uint64_t> &guidBase)
    {
        error_.file = std::move(file);
        topology_.guidBase = guidBase.value_or(topology_.guidBase);
    }

    std::expected<Topology, ParseError> parse(std::string_view text)
    {
        for (std::size_t start = 0; start <= text.size(); ++error_.line) {
            const std::size_t end = std::min(text.find('\n', start), text.size());
            if (!line(text.substr(start, end - start), error_.line + 1))
                return std::unexpected(error_);
            start = end + 1;
        }
        if (!resolve() || !checkGuids())
            return std::unexpected(error_);
        return std::move(topology_);
    }

  private:
    struct End { // of a cable, as it is written
        PortRef local;
        std::string peer;
        std::size_t line, column;
        std::uint64_t port;
    };

    bool fail(std::size_t line, std::size_t column, std::string message)
    {
        error_.line = line;
        error_.column = column;
        error_.message = std::move(message);
        return false;
    }
    bool fail(const Scanner &at, std::string message)
    {
        return fail(line_, at.column(), std::move(message));
    }

    bool line(std::string_view text, std::size_t number)
    {
        line_ = number;
        // A # inside quotes belongs to the name.
        bool isQuoted = false;
        std::size_t hash = 0;
        for (; hash < text.size() && (isQuoted || text[hash] != '#'); ++hash)
            isQuoted ^= text[hash] == '"';
        const auto comment = hash < text.size() ? text.substr(hash + 1) : std::string_view{};
        Scanner scan(text.substr(0, hash));
        if (scan.atEnd())
            return true;
        if (scan.take('['))
            return portLine(scan, comment);
        const std::size_t column = scan.column();
        const auto word = scan.word();
        if (word == "Switch")
            return nodeLine(scan, comment, NodeKind::switchNode);
        if (word == "Ca" || word == "Hca" || word == "Rt")
            return nodeLine(scan, comment, NodeKind::channelAdapter);
        if (scan.take('='))
            return property(scan, word, column);
        return fail(number, column, "expected Switch, Ca, [port] or name=value");
    }

    bool property(Scanner &scan, std::string_view name, std::size_t column)
    {
        static constexpr std::array<std::string_view, 7> known{
            "vendid", "devid", "sysimgguid", "switchguid", "caguid", "rtguid", "DR"};
        if (std::ranges::find(known, name) == known.end())
            return fail(line_, column, "unknown property '" + std::string(name) + "'");
        const auto value = scan.number(16);
        if (!value)
            return fail(scan, "expected a hexadecimal number");
        // Behind a GUID ibnetdiscover repeats it in parentheses.
        if (scan.take('(') && (!scan.number(16) || !scan.take(')')))
            return fail(scan, "expected a GUID and ')'");
        if (!scan.atEnd())
            return fail(scan, "unexpected text");
        if (name == "vendid")
            next_.vendor = static_cast<std::uint32_t>(*value & 0xFF'FFFF);
        else if (name == "devid")
            next_.device = static_cast<std::uint16_t>(*value);
        else if (name == "sysimgguid")
            next_.systemGuid = *value;
        else
            next_.guid = *value;
        return true;
    }

    bool nodeLine(Scanner &scan, std::string_view comment, NodeKind kind)
    {
        scan.skipSpace();
        const std::size_t countColumn = scan.column();
        const auto count = scan.number();
        if (!count || *count == 0 || *count > maxPorts)
            return fail(line_, countColumn, "expected the number of ports, 1 to 254");
        scan.skipSpace();
        const std::size_t column = scan.column();
        const auto id = scan.quoted();
        if (!id || id->empty())
            return fail(line_, column, "expected the node's name in double quotes");
        if (!scan.atEnd())
            return fail(scan, "unexpected text");
        const auto [known, isNew] = ids_.try_emplace(std::string(*id), topology_.nodes.size());
        if (!isNew)
            return fail(line_, column, "there is a node \"" + known->first + "\" already");

        TopologyNode node = std::exchange(next_, {});
        node.kind = kind;
        node.id = *id;
        node.name = *id;
        if (const auto quote = comment.find('"'); quote != std::string_view::npos)
            if (const auto name = Scanner(comment.substr(quote)).quoted(); name && !name->empty())
                node.name = name->substr(0, maxDescription);
        node.ports.resize(*count);
        topology_.nodes.push_back(std::move(node));
        lines_.push_back(line_);
        return true;
    }

    bool portLine(Scanner &scan, std::string_view comment)
    {
        if (topology_.nodes.empty())
            return fail(line_, 1, "a port before the first node");
        TopologyNode &node = topology_.nodes.back();
        const std::size_t column = scan.column();
        const auto number = scan.number();
        if (!number || *number == 0 || *number > node.ports.size())
            return fail(line_, column,
                        "\"" + node.name + "\" has ports 1 to " +
                            std::to_string(node.ports.size()));
        if (!scan.take(']'))
            return fail(scan, "expected ']'");
        TopologyPort &port = node.port(static_cast<std::uint8_t>(*number));
        if (scan.take('(')) {
            const auto guid = scan.number(16);
            if (!guid || !scan.take(')'))
                return fail(scan, "expected a GUID and ')'");
            port.guid = *guid;
        }
        scan.skipSpace();
        End end{.local = {topology_.nodes.size() - 1, static_cast<std::uint8_t>(*number)},
                .peer = {},
                .line = line_,
                .column = scan.column(),
                .port = 0};
        const auto peer = scan.quoted();
        if (!peer)
            return fail(scan, "expected the peer's name in double quotes");
        end.peer = *peer;
        if (!peerPort(scan, end) || !options(scan, port))
            return false;
        rate(comment, port);
        ends_.push_back(std::move(end));
        return true;
    }

    bool peerPort(Scanner &scan, End &end)
    {
        if (!scan.take('['))
            return fail(scan, "expected [port] of the peer");
        const auto port = scan.number();
        if (!port || !scan.take(']'))
            return fail(scan, "expected a port number and ']'");
        end.port = *port;
        if (scan.take('(') && (!scan.number(16) || !scan.take(')')))
            return fail(scan, "expected a GUID and ')'");
        return true;
    }

    // ibsim's w=WIDTH and s=SPEED (1 SDR, 2 DDR, 4 QDR).
    bool options(Scanner &scan, TopologyPort &port)
    {
        while (!scan.atEnd()) {
            const std::size_t column = scan.column();
            const auto word = scan.word();
            if ((word != "w" && word != "s") || !scan.take('='))
                return fail(line_, column, "expected w=WIDTH or s=SPEED");
            const auto value = scan.number();
            if (word == "w" && value && validWidth(*value))
                port.width = static_cast<std::uint8_t>(*value);
            else if (word == "s" && value && (*value == 1 || *value == 2 || *value == 4))
                port.speed = *value == 1 ? Speed::sdr : *value == 2 ? Speed::ddr : Speed::qdr;
            else
                return fail(line_, column, "no such width or speed");
        }
        return true;
    }

    // "4xQDR" as the comment's last word; a comment is never wrong.
    static void rate(std::string_view comment, TopologyPort &port)
    {
        const auto last = comment.find_last_not_of(" \t\r");
        if (last == std::string_view::npos)
            return;
        comment = comment.substr(0, last + 1);
        Scanner scan(comment.substr(comment.find_last_of(" \t") + 1));
        const auto width = scan.number();
        const auto name = scan.word();
        if (!width || !validWidth(*width) || !name.starts_with('x'))
            return;
        for (const auto &[text, speed] : speeds)
            if (name.substr(1) == text) {
                port.width = static_cast<std::uint8_t>(*width);
                port.speed = speed;
            }
    }

    // Both ends of each cable, when all nodes are known.
    bool resolve()
    {
        for (const End &end : ends_) {
            const auto node = ids_.find(end.peer);
            if (node == ids_.end())
                return fail(end.line, end.column, "there is no node \"" + end.peer + "\"");
            auto &peer = topology_.nodes[node->second];
            if (end.port == 0 || end.port > peer.ports.size())
                return fail(end.line, end.column,
                            "\"" + peer.name + "\" has no port " + std::to_string(end.port));
            const PortRef remote{node->second, static_cast<std::uint8_t>(end.port)};
            if (remote == end.local)
                return fail(end.line, end.column, "a port cabled to itself");
            if (!join(end.local, remote) || !join(remote, end.local))
                return fail(end.line, end.column, "one of the two ports has another cable already");
        }
        return true;
    }

    bool join(const PortRef &from, const PortRef &to)
    {
        auto &peer = topology_.nodes[from.node].port(from.port).peer;
        if (peer && *peer != to)
            return false;
        peer = to;
        return true;
    }

    bool checkGuids()
    {
        std::set<std::uint64_t> guids;
        std::uint64_t made = topology_.guidBase;
        for (std::size_t i = 0; i < topology_.nodes.size(); ++i) {
            TopologyNode &node = topology_.nodes[i];
            if (node.guid == 0)
                node.guid = made += Topology::guidStep;
            if (node.systemGuid == 0)
                node.systemGuid = node.guid;
            bool isNew = guids.insert(node.guid).second;
            if (node.kind == NodeKind::channelAdapter)
                for (std::size_t port = 1; port <= node.ports.size(); ++port) {
                    const auto guid = node.portGuid(static_cast<std::uint8_t>(port));
                    isNew &= guids.insert(guid).second || guid == node.guid;
                }
            if (!isNew)
                return fail(lines_[i], 1, "a GUID of \"" + node.name + "\" is used twice");
        }
        return true;
    }

    Topology topology_;
    TopologyNode next_; // properties seen for it so far
    std::map<std::string, std::size_t, std::less<>> ids_;
    std::vector<std::size_t> lines_; // of each node
    std::vector<End> ends_;
    std::size_t line_ = 0;
    ParseError error_;
};

} // namespace

std::expected<Topology, ParseError> parseTopology(std::string_view text, std::string file,
                                                  std::optional<std::uint64_t> guidBase)
{
    return Parser(std::move(file), guidBase).parse(text);
}

} // namespace openipoib::fabric
