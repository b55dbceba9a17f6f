# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Layers: one that guests have is not taken away from them."""

import fcntl
import os

from lablib import layer


def test_a_layer_in_use_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(layer, "IN_USE", tmp_path / "in-use")
    old, used = tmp_path / "layer-a", tmp_path / "layer-b"
    for path in (old, used):
        (path / "usr").mkdir(parents=True)
    lock = layer._lock(used, fcntl.LOCK_SH)
    layer._remove_unused([old, used])
    assert used.exists() and not old.exists()
    os.close(lock)
    layer._remove_unused([used])
    assert not used.exists()
    assert list((tmp_path / "in-use").iterdir()) == []
