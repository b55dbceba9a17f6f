// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/stack.hpp"

#include <algorithm>
#include <array>

namespace openipoib::openib
{

namespace
{

constexpr std::array adapters{
    AdapterDriver{"MTHCA_LOAD", "ib_mthca", "ib_mthca"},
    AdapterDriver{"MLX4_LOAD", "mlx4_core", "mlx4_ib"},
    AdapterDriver{"MLX4_EN_LOAD", "mlx4_core", "mlx4_en"},
    AdapterDriver{"MLX5_LOAD", "mlx5_core", "mlx5_ib"},
    AdapterDriver{"QIB_LOAD", "ib_qib", "ib_qib"},
    AdapterDriver{"HFI1_LOAD", "hfi1", "hfi1"},
    AdapterDriver{"CXGB4_LOAD", "cxgb4", "iw_cxgb4"},
    AdapterDriver{"OCRDMA_LOAD", "be2net", "ocrdma"},
};

constexpr std::array layers{
    UpperLayer{"UMAD_LOAD", "ib_umad", true},    UpperLayer{"UVERBS_LOAD", "ib_uverbs", true},
    UpperLayer{"RDMA_CM_LOAD", "rdma_cm", true}, UpperLayer{"RDMA_UCM_LOAD", "rdma_ucm", true},
    UpperLayer{"SRP_LOAD", "ib_srp", false},     UpperLayer{"SRPT_LOAD", "ib_srpt", false},
    UpperLayer{"ISER_LOAD", "ib_iser", false},   UpperLayer{"RDS_LOAD", "rds_rdma", false},
};

constexpr std::array<std::string_view, 18> unload{
    "rds_rdma",  "ib_iser", "ib_srpt", "ib_srp",   "ib_ipoib", "rdma_ucm",
    "ib_umad",   "mlx4_ib", "mlx5_ib", "ib_mthca", "ib_qib",   "ocrdma",
    "ib_uverbs", "rdma_cm", "iw_cm",   "ib_cm",    "ib_core",  "rds",
};

constexpr std::array<std::string_view, 2> own{"ib_ipoib", "sib"};

constexpr std::array<std::string_view, 7> core{"ib_uverbs", "rdma_cm", "iw_cm",  "ib_cm",
                                               "ib_core",   "rds",     "ib_umad"};

} // namespace

std::span<const AdapterDriver> adapterDrivers()
{
    return adapters;
}

std::span<const UpperLayer> upperLayers()
{
    return layers;
}

std::set<std::string> ownQueuesIn(std::string_view text)
{
    std::set<std::string> names;
    while (!text.empty()) {
        const auto at = text.find_first_of(",\n");
        if (at != 0)
            names.emplace(text.substr(0, at));
        text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
    }
    return names;
}

std::span<const std::string_view> ownModules()
{
    return own;
}

std::span<const std::string_view> unloadOrder()
{
    return unload;
}

bool staysWhenUsed(std::string_view module)
{
    return std::ranges::find(core, module) != core.end();
}

} // namespace openipoib::openib
