// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/keys.hpp"

#include <algorithm>
#include <array>

namespace openipoib::conf
{

namespace
{

constexpr std::string_view noModule = "its kernel module is no longer part of Linux";
constexpr std::string_view noWait = "nothing waits for a fixed time any more";
constexpr std::string_view nodeDescription =
    "the description is written at once; rdma-ndd(8) follows a change of the host's name";
constexpr std::string_view srpDaemon = "enable the service srp_daemon(5) instead";
constexpr std::string_view tuner = "no tuning program is run; see tuned(8) or irqbalance(1)";
constexpr std::string_view hook = "use a drop-in of openibd.service: systemctl edit openibd";

constexpr std::array table{
    // The service
    Key{"ONBOOT"},
    Key{"ALLOW_STOP"},
    Key{"NODE_DESC", Kind::text},
    Key{"RUN_SYSCTL"},
    // Adapters
    Key{"MTHCA_LOAD"},
    Key{"MLX4_LOAD"},
    Key{"MLX4_EN_LOAD"},
    Key{"MLX5_LOAD"},
    Key{"QIB_LOAD"},
    Key{"HFI1_LOAD"},
    Key{"CXGB4_LOAD"},
    Key{"OCRDMA_LOAD"},
    // Interfaces for programs, and storage
    Key{"UMAD_LOAD"},
    Key{"UVERBS_LOAD"},
    Key{"RDMA_CM_LOAD"},
    Key{"RDMA_UCM_LOAD"},
    Key{"SRP_LOAD"},
    Key{"SRPT_LOAD"},
    Key{"ISER_LOAD"},
    Key{"RDS_LOAD"},
    // IPoIB
    Key{"IPOIB_LOAD"},
    Key{"IPOIB_OWN_QUEUES", Kind::ports},
    Key{"SET_IPOIB_CM", Kind::mode},
    Key{"IPOIB_MTU", Kind::mtu},
    Key{"IPOIBHA_ENABLE"},
    Key{"PRIMARY_IPOIB_DEV", Kind::devices},
    Key{"SECONDARY_IPOIB_DEV", Kind::devices},
    Key{"IPOIBHA_FAILBACK", Kind::failback},
    Key{"IPOIBHA_MULTICAST"},
    Key{"IPOIBHA_TARGETS", Kind::targets},
    Key{"IPOIBHA_TARGET_INTERVAL", Kind::interval},
    Key{"IPOIBHA_TARGET_MISSES", Kind::count},
    Key{"IPOIBHA_PROBES", Kind::probes},
    Key{"IPOIBHA_PROBE_INTERVAL", Kind::interval},
    Key{"IPOIBHA_PROBE_MISSES", Kind::count},
    Key{"IPOIBHA_NOTIFY", Kind::path},
    Key{"IPOIBBOND_ENABLE"},
    Key{"IPOIB_BONDS", Kind::bonds},
    // Known, and without effect
    Key{"NODE_DESC_TIME_BEFORE_UPDATE", Kind::anything, nodeDescription},
    Key{"NODE_DESC_UPDATE_TIMEOUT", Kind::anything, nodeDescription},
    Key{"POST_START_DELAY", Kind::anything, noWait},
    Key{"RENICE_IB_MAD", Kind::anything,
        "management datagrams are handled by shared kernel workers"},
    Key{"FORCE_MODE", Kind::anything, "modules are loaded wherever they come from"},
    Key{"UCM_LOAD", Kind::anything, noModule},
    Key{"IPATH_LOAD", Kind::anything, noModule},
    Key{"EHCA_LOAD", Kind::anything, noModule},
    Key{"AMSO1100_LOAD", Kind::anything, noModule},
    Key{"CXGB3_LOAD", Kind::anything, noModule},
    Key{"NES_LOAD", Kind::anything, noModule},
    Key{"SDP_LOAD", Kind::anything, noModule},
    Key{"KDAPL_LOAD", Kind::anything, noModule},
    Key{"VNIC_LOAD", Kind::anything, noModule},
    Key{"QLGC_VNIC_LOAD", Kind::anything, noModule},
    Key{"MLX4_VNIC_LOAD", Kind::anything, noModule},
    Key{"MLX4_FC_LOAD", Kind::anything, noModule},
    Key{"E_IPOIB_LOAD", Kind::anything, noModule},
    Key{"LOAD_EIPOIB", Kind::anything, noModule},
    Key{"SRP_TARGET_LOAD", Kind::anything, "the module is ib_srpt today: use SRPT_LOAD"},
    Key{"MLX_EN_LOAD", Kind::anything, "udev loads drivers of Ethernet adapters"},
    Key{"CX3_ETH_ONLY", Kind::anything, "set port types with devlink-port(8)"},
    Key{"SRPHA_ENABLE", Kind::anything, srpDaemon},
    Key{"SRP_DAEMON_ENABLE", Kind::anything, srpDaemon},
    Key{"SET_IPOIB_CHANNELS", Kind::anything, "use ethtool -L"},
    Key{"RUN_AFFINITY_TUNER", Kind::anything, tuner},
    Key{"RUN_MLNX_TUNE", Kind::anything, tuner},
    Key{"ENABLE_FW_TRACER", Kind::anything, "the firmware tracer is a matter of trace-cmd(1)"},
    Key{"SMARTNIC_PF_MAC_CONF", Kind::anything, "use devlink-port(8)"},
    Key{"OPENIBD_PRE_START", Kind::anything, hook},
    Key{"OPENIBD_POST_START", Kind::anything, hook},
    Key{"OPENIBD_PRE_STOP", Kind::anything, hook},
    Key{"OPENIBD_POST_STOP", Kind::anything, hook},
};

constexpr auto names = [] {
    std::array<std::string_view, table.size()> all{};
    for (std::size_t i = 0; i < table.size(); ++i)
        all[i] = table[i].name;
    return all;
}();

struct Pattern {
    std::string_view prefix;
    std::string_view suffix;
    Kind kind;
    DeviceKeyFamily family;
    std::string_view text;
};

constexpr std::array patterns{
    Pattern{"SET_IPOIB_CM_", "", Kind::mode, DeviceKeyFamily::interface,
            "SET_IPOIB_CM_<interface>"},
    Pattern{"IPOIB_MTU_", "", Kind::mtu, DeviceKeyFamily::interface, "IPOIB_MTU_<interface>"},
    Pattern{"IPOIB_CHILDREN_", "", Kind::pkeys, DeviceKeyFamily::interface,
            "IPOIB_CHILDREN_<interface>"},
    Pattern{"", "_IP", Kind::addresses, DeviceKeyFamily::bond, "<bond>_IP"},
    Pattern{"", "_SLAVES", Kind::devices, DeviceKeyFamily::bond, "<bond>_SLAVES"},
};

} // namespace

std::span<const Key> keys()
{
    return table;
}

const Key *findKey(std::string_view name)
{
    const auto found = std::ranges::find(table, name, &Key::name);
    return found == table.end() ? nullptr : &*found;
}

std::span<const std::string_view> keyNames()
{
    return names;
}

DeviceKey splitDeviceKey(std::string_view name, DeviceKeyFamily family)
{
    for (const auto &pattern : patterns) {
        if (pattern.family != family || !name.starts_with(pattern.prefix) ||
            !name.ends_with(pattern.suffix) ||
            name.size() <= pattern.prefix.size() + pattern.suffix.size())
            continue;
        const auto length = name.size() - pattern.prefix.size() - pattern.suffix.size();
        return {pattern.kind, pattern.text,
                std::string(name.substr(pattern.prefix.size(), length))};
    }
    return {};
}

} // namespace openipoib::conf
