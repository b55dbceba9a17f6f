// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/linux_state.hpp"

#include "conf/openib/stack.hpp"
#include "io/file.hpp"
#include "netlink/ipoib_link.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace openipoib::openib
{

namespace
{

template <typename T> T number(std::string_view text, T otherwise)
{
    int base = 10;
    if (text.starts_with("0x")) {
        text.remove_prefix(2);
        base = 16;
    }
    T value{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc{} ? value : otherwise;
}

// "4: ACTIVE" without the number
std::string afterColon(const std::string &text)
{
    const auto colon = text.find(": ");
    return colon == std::string::npos ? text : text.substr(colon + 2);
}

std::string hexadecimal(const io::Bytes &bytes)
{
    std::string out;
    for (const auto byte : bytes)
        out += fmt::format("{:02x}", byte);
    return out;
}

bool isNumber(const std::string &name)
{
    return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

std::string linkTarget(const std::string &path)
{
    std::array<char, 4096> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length))
                      : std::string();
}

Port readPort(const std::string &path, unsigned portNumber)
{
    Port port;
    port.number = portNumber;
    port.state = afterColon(io::readLine(path + "/state"));
    port.physical = afterColon(io::readLine(path + "/phys_state"));
    port.layer = io::readLine(path + "/link_layer");
    port.rate = io::readLine(path + "/rate");
    port.lid = number<unsigned>(io::readLine(path + "/lid"), 0);
    port.gid = io::readLine(path + "/gids/0");
    std::erase(port.gid, ':');
    return port;
}

// What a process has open below /dev/infiniband, by the names there.
std::set<std::string> openDevices(const std::string &process)
{
    static constexpr std::string_view prefix = "/dev/infiniband/";
    std::set<std::string> devices;
    const std::string open = process + "/fd/";
    for (const auto &fd : io::folder(open)) {
        const std::string target = linkTarget(open + fd);
        if (target.starts_with(prefix))
            devices.insert(target.substr(prefix.size()));
    }
    return devices;
}

void addProcesses(const Roots &roots, std::vector<std::string> &users)
{
    // Their work is for the stack itself; they end or wait when it goes.
    static const std::set<std::string> harmless{"rdma-ndd", "ipoib-ha", "ipoib_ha", "openib"};
    for (const auto &pid : io::folder(roots.proc)) {
        if (!isNumber(pid))
            continue;
        const std::string process = roots.proc + "/" + pid;
        const std::string name = io::readLine(process + "/comm");
        if (harmless.contains(name))
            continue;
        const auto devices = openDevices(process);
        if (!devices.empty())
            users.push_back(fmt::format("{} (process {}) uses {}", name, pid, *devices.begin()));
    }
}

void addStorage(const Roots &roots, std::vector<std::string> &users)
{
    for (const auto &host : io::folder(roots.sys + "/class/scsi_host")) {
        const std::string path = roots.sys + "/class/scsi_host/" + host;
        const std::string driver = io::readLine(path + "/proc_name");
        if (driver == "ib_srp" || driver == "iser")
            users.push_back(
                fmt::format("SCSI {} is a session of {}", host, driver == "iser" ? "iSER" : "SRP"));
    }
    for (const auto &controller : io::folder(roots.sys + "/class/nvme"))
        if (io::readLine(roots.sys + "/class/nvme/" + controller + "/transport") == "rdma")
            users.push_back(fmt::format("{} is an NVMe controller over RDMA", controller));
}

std::string ownQueuesPath(const Roots &roots)
{
    return fmt::format("{}/module/{}/parameters/{}", roots.sys, ipoibModule, ownQueuesParameter);
}

} // namespace

std::vector<Hca> readHcas(const Roots &roots)
{
    std::vector<Hca> hcas;
    const std::string base = roots.sys + "/class/infiniband/";
    for (const auto &name : io::folder(base)) {
        const std::string path = base + name;
        const std::string ports = path + "/ports/";
        Hca hca{name, io::readLine(path + "/node_desc"), {}};
        for (const auto &port : io::folder(ports))
            if (isNumber(port))
                hca.ports.push_back(readPort(ports + port, number<unsigned>(port, 0)));
        std::ranges::sort(hca.ports, {}, &Port::number);
        hcas.push_back(std::move(hca));
    }
    return hcas;
}

std::vector<Interface> readInterfaces(const Roots &roots, const std::vector<netlink::Link> &links,
                                      const std::vector<Hca> &hcas)
{
    const auto nameOf = [&links](int index) {
        const auto found = std::ranges::find(links, index, &netlink::Link::index);
        return index && found != links.end() ? found->name : std::string();
    };
    std::vector<Interface> interfaces;
    for (const auto &link : links) {
        if (!link.isInfiniband())
            continue;
        Interface interface;
        interface.name = link.name;
        interface.index = link.index;
        interface.mtu = link.mtu;
        interface.up = link.isUp();
        interface.running = link.isRunning();
        interface.master = nameOf(link.master);
        interface.takesConnections = !link.address.empty() && (link.address[0] & 0x80);
        const auto ipoib = netlink::readIpoibLink(roots.sys, link, links);
        interface.parent = ipoib.parent;
        interface.pkey = ipoib.pkey.value_or(0xFFFF);
        interface.connected = ipoib.connected;
        interface.umcast = ipoib.umcast;
        const std::string gid = hexadecimal(link.gid());
        for (const auto &hca : hcas)
            for (const auto &port : hca.ports)
                if (!gid.empty() && port.gid == gid) {
                    interface.hca = hca.name;
                    interface.port = port.number;
                }
        interfaces.push_back(std::move(interface));
    }
    std::ranges::sort(interfaces, {}, &Interface::name);
    return interfaces;
}

std::map<std::string, std::set<std::string>, std::less<>>
readBonds(const std::vector<netlink::Link> &links)
{
    std::map<std::string, std::set<std::string>, std::less<>> bonds;
    for (const auto &bond : links) {
        if (bond.kind != "bond")
            continue;
        auto &slaves = bonds[bond.name];
        for (const auto &link : links)
            if (link.master == bond.index)
                slaves.insert(link.name);
    }
    return bonds;
}

std::map<std::string, Module, std::less<>> readModules(const Roots &roots)
{
    std::set<std::string> names(unloadOrder().begin(), unloadOrder().end());
    for (const auto &adapter : adapterDrivers()) {
        names.emplace(adapter.driver);
        names.emplace(adapter.rdma);
    }
    for (const auto &layer : upperLayers())
        names.emplace(layer.module);
    std::map<std::string, Module, std::less<>> modules;
    for (const auto &name : names) {
        const std::string path = roots.sys + "/module/" + name;
        if (io::readLine(path + "/initstate") != "live")
            continue;
        modules[name] =
            Module{number<int>(io::readLine(path + "/refcnt"), 0), io::folder(path + "/holders")};
    }
    return modules;
}

std::optional<Build> readBuild(const Roots &roots, const std::string &module)
{
    const std::string path = roots.sys + "/module/" + module;
    if (io::readLine(path + "/initstate") != "live")
        return std::nullopt;
    return Build{io::readLine(path + "/version"), io::readLine(path + "/srcversion")};
}

std::optional<std::set<std::string>> readOwnQueues(const Roots &roots)
{
    const auto text = io::readFile(ownQueuesPath(roots));
    return text ? std::optional(ownQueuesIn(*text)) : std::nullopt;
}

io::Result<void> writeOwnQueues(const Roots &roots, const std::string &text)
{
    // Without the newline, no list at all would be no write at all.
    return io::writeFile(ownQueuesPath(roots), text + "\n");
}

std::vector<std::string> readAliases(const Roots &roots)
{
    std::vector<std::string> aliases;
    const std::string base = roots.sys + "/bus/pci/devices/";
    for (const auto &device : io::folder(base)) {
        const std::string kind = io::readLine(base + device + "/class");
        // InfiniBand, of old adapters as well; Ethernet, and a network of another kind, which
        // adapters say that can do both
        static const std::array kinds{"0x0207", "0x0c06", "0x0200", "0x0280"};
        if (std::ranges::any_of(kinds, [&](const char *one) { return kind.starts_with(one); }))
            aliases.push_back(io::readLine(base + device + "/modalias"));
    }
    return aliases;
}

bool isEthernetAlias(std::string_view alias)
{
    return alias.starts_with("pci:") && alias.find("bc02sc00") != std::string_view::npos;
}

std::vector<std::string> readUsers(const Roots &roots, const Towards &towards)
{
    std::vector<std::string> users;
    addProcesses(roots, users);
    const auto mounts = io::readFile(roots.proc + "/self/mounts").value_or("");
    for (auto &mount : mountsInUse(mounts, towards))
        users.push_back(std::move(mount));
    addStorage(roots, users);
    return users;
}

std::string sysctlPath(const Roots &roots, const std::string &name)
{
    std::string path = name;
    std::ranges::replace(path, '.', '/');
    return roots.proc + "/sys/" + path;
}

std::optional<std::uint64_t> readSysctl(const Roots &roots, const std::string &name)
{
    const std::string value = io::readLine(sysctlPath(roots, name));
    return isNumber(value) ? std::optional(number<std::uint64_t>(value, 0)) : std::nullopt;
}

} // namespace openipoib::openib
