# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The files of hosted CI: they can be read, and call .ci/run in a privileged Debian 12."""

import os

import yaml

from checklib.tree import TOP


def read(name):
    return yaml.safe_load((TOP / name).read_text(encoding="utf-8"))


def test_github():
    read_file = read(".github/workflows/ci.yml")
    # YAML 1.1 takes the word `on` for a truth value.
    assert {"push", "pull_request"} == set(read_file[True])
    job, = read_file["jobs"].values()
    assert job["container"] == {"image": "debian:12", "options": "--privileged --shm-size=8g"}
    ran = [step.get("run", "") for step in job["steps"]]
    used = [step.get("uses", "").partition("@")[0] for step in job["steps"]]
    assert ran.count(".ci/run") == 1
    # git has to be there before the checkout, and the checkout before it is tested.
    assert "git" in ran[0] and used.index("actions/checkout") < ran.index(".ci/run")
    assert job["steps"][-1]["if"] == "always()" and job["steps"][-1]["with"]["path"] == "build/logs"


def test_gitlab():
    job, = read(".gitlab-ci.yml").values()
    assert job["image"] == "debian:12" and job["script"] == [".ci/run"]
    assert job["artifacts"]["when"] == "always" and job["artifacts"]["paths"] == ["build/logs"]


def test_what_they_run_is_a_program():
    assert os.access(TOP / ".ci/run", os.X_OK)
