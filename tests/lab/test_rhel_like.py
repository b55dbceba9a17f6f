# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Headers of one kernel with the RDMA of a later one, as scripts/rhel-like makes them."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
RDMA = ("ib_addr", "ib_cache", "ib_cm", "ib_mad", "ib_pma", "ib_sa", "ib_smi", "ib_umem", "ib_verbs",
        "uverbs_ioctl", "rdma_cm")
MAKEFILE = """
all.o: ; @gcc -fsyntax-only -Wall -Werror '-DBUG()=' -I../{common}/include $(M)/all.c
"""


def make_headers(root, release, **files):
    """Headers of a kernel, whose Makefile compiles one file."""
    common = root / f"usr/src/linux-headers-{release}-common"
    tree = root / f"usr/src/linux-headers-{release}-amd64"
    texts = {f"rdma/{name}.h": "#include <linux/base.h>\n" for name in RDMA} | files
    texts |= {"uapi/rdma/x.h": "", "linux/base.h": ""}
    for name, text in texts.items():
        (common / "include" / name).parent.mkdir(parents=True, exist_ok=True)
        (common / "include" / name).write_text(text)
    tree.mkdir()
    (common / "Makefile").write_text(MAKEFILE.format(common=common.name))
    (tree / "Makefile").write_text(f"include ../{common.name}/Makefile\n")
    (tree / "Module.symvers").write_text(f"0x1\tnet_{release}\tvmlinux\tEXPORT_SYMBOL\t\n"
                                         f"0x2\trdma_{release}\tdrivers/infiniband/core/ib_core\tEXPORT\t\n")
    (root / "usr/lib").mkdir()
    return tree


@pytest.fixture(name="run")
def rhel_like(tmp_path):
    """The script beside a debian-kernel that knows two kernels."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    shutil.copy(SCRIPTS / "rhel-like", scripts)
    (scripts / "debian-kernel").write_text(f'#!/bin/sh\necho {tmp_path}/$2/usr/src/linux-headers-$2-amd64\n')
    (scripts / "debian-kernel").chmod(0o755)

    def run(**files):
        make_headers(tmp_path / "old", "old", **{"rdma/gone.h": ""})
        make_headers(tmp_path / "new", "new", **files)
        return subprocess.run([scripts / "rhel-like", "old", "new", tmp_path / "made"],
                              capture_output=True, text=True, check=False)

    return run


def test_the_headers_of_one_with_the_rdma_of_another(run):
    verbs = "#include <linux/new.h>\nstatic inline int f(int x) { return later(x); }\n" \
            "void g(struct of_later *x);\n"
    done = run(**{"rdma/ib_verbs.h": verbs, "linux/new.h": "",
                  "linux/base.h": "#error of the newer kernel\n"})
    assert done.returncode == 0, done.stderr
    tree = Path(done.stdout.strip())
    include = tree.parent / "linux-headers-old-common/include"
    assert not (include / "rdma/gone.h").exists()
    assert (include / "linux/new.h").exists()
    shim = (include / "rdma/shim.h").read_text()
    assert "#define later(" in shim and "struct of_later;" in shim
    symbols = (tree / "Module.symvers").read_text()
    assert "net_old" in symbols and "rdma_new" in symbols
    assert "net_new" not in symbols and "rdma_old" not in symbols
    assert not (tree.parents[2] / "probe").exists()


def test_headers_that_do_not_fit(run):
    done = run(**{"rdma/ib_verbs.h": "#include <linux/nowhere.h>\n"})
    assert done.returncode == 2
    assert "do not fit" in done.stderr and "nowhere.h" in done.stderr
