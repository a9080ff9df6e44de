#!/usr/bin/env python3
"""Runs each test of the Go SDK of Gitea alone against a fresh daemon, and prints those that fail.

Usage: sdk_groups.py FARRIERD FARRIER [TEST...]

Needs Go and the Internet. docs/api.md lists the tests that cannot pass, with the reasons.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

MODULE = "code.gitea.io/sdk/gitea@v0.25.1"
# The tests expect this name.
USER, PASSWORD = "test01", "correct horse battery"
PORT = 3791


def build(directory):
    """Compiles the tests without and with a server. Returns pairs of a test and its program."""
    module = json.loads(subprocess.check_output(["go", "mod", "download", "-json", MODULE], cwd=directory))
    sources = shutil.copytree(module["Dir"], directory / "sdk", copy_function=shutil.copyfile)
    subprocess.check_call(["chmod", "-R", "u+w", sources])
    tests = []
    for package in [".", "tests"]:
        program = directory / f"{package.replace('.', 'unit')}.test"
        subprocess.check_call(["go", "test", "-c", "-o", program, f"./{package}"], cwd=sources)
        for file in sorted((sources / package).glob("*_test.go")):
            names = re.findall(r"^func (Test(?!Main\b)\w+)", file.read_text(), re.MULTILINE)
            tests += [(name, program) for name in names]
    return tests


def run(farrierd, farrier, directory, name, program):
    """Runs one test against a fresh daemon. Returns its output, or None if it passes."""
    data, socket, url = directory / "data", directory / "socket", f"http://127.0.0.1:{PORT}"
    shutil.rmtree(data, ignore_errors=True)
    listen = ["--listen", f"127.0.0.1:{PORT}", "--ssh-listen", f"127.0.0.1:{PORT + 1}", "--socket", socket]
    with open(directory / "log", "w") as log:
        daemon = subprocess.Popen([farrierd, "--data-dir", data, *listen], stdout=log, stderr=log)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/api/v1/version").read()
                break
            except OSError:
                time.sleep(0.1)
        command = [farrier, "--socket", socket]
        create = ["user", "create", USER, "--email", f"{USER}@gitea.io", "--admin", "--password-stdin"]
        subprocess.run([*command, *create], input=PASSWORD, text=True, check=True, capture_output=True)
        token = ["token", "create", "--user", USER, "--name", "gitea-admin", "--scopes", "all"]
        subprocess.run([*command, *token], check=True, capture_output=True)
        names = ("GITEA_SDK_TEST_URL", "GITEA_SDK_TEST_USERNAME", "GITEA_SDK_TEST_PASSWORD")
        environment = os.environ | dict(zip(names, (url, USER, PASSWORD)))
        arguments = [program, "-test.run", f"^{name}$", "-test.v"]
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=300)
        return None if done.returncode == 0 else done.stdout + done.stderr
    except subprocess.TimeoutExpired as error:
        return f"{error}\n"
    finally:
        daemon.terminate()
        daemon.wait()


def main():
    farrierd, farrier, *wanted = sys.argv[1:]
    programs = [os.path.abspath(farrierd), os.path.abspath(farrier)]
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        tests = [test for test in build(directory) if not wanted or test[0] in wanted]
        passed = 0
        for name, program in tests:
            output = run(*programs, directory, name, program)
            passed += output is None
            print(name, "passes" if output is None else f"fails\n{output}", flush=True)
        print(f"{passed} of {len(tests)} pass")


if __name__ == "__main__":
    main()
