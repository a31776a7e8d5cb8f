#!/usr/bin/env python3
"""Set-up and the everyday commands, for any machine with Python 3.11 to 3.13: `python3 make.py help`.

Model     there is one environment in .venv, which is filled from requirements.lock. A stamp inside it records what it
          was made from, so every command may begin with `setup`, which usually finds nothing to do
Needs     only the standard library. Git, make, a compiler, Java and a writable home are not required. With a C
          compiler, the simulator's hot path is compiled, which takes half a minute and makes it about twice as fast
Errors    one line on stderr and exit status 1. If a command fails, its own exit status
Source    ours: docs/architecture/set-up.md
"""

# This file must be valid syntax for any version of Python 3, so that it can report which version is required.

import configparser
import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

OLDEST, NEWEST = (3, 11), (3, 13)
HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
BIN = os.path.join(VENV, "bin")
PYTHON = os.path.join(BIN, "python")
STAMP = os.path.join(VENV, "made-of.json")
LOCK = os.path.join(HERE, "requirements.lock")
INDEX = "https://pypi.org/simple"


class Refusal(Exception):
    """Raised with a line that describes why a command cannot continue."""


# --- the environment of the commands that we call ---------------------------------------------------------------


def surroundings():
    """Return the caller's environment variables without those that redirect Python or slow it down, and with a
    directory for caches.
    """
    # Without bytecode, every command would first compile the source of pandas, scipy and matplotlib, which takes three
    # seconds.
    astray = (
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONDONTWRITEBYTECODE",
        "PIP_USER",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_REQUIRE_VIRTUALENV",
        "UV_PYTHON",
        "UV_PROJECT_ENVIRONMENT",
        "UV_SYSTEM_PYTHON",
        "CONDA_PREFIX",
    )
    env = {name: value for name, value in os.environ.items() if name not in astray}
    env["PATH"] = BIN + os.pathsep + env.get("PATH", os.defpath)
    env["VIRTUAL_ENV"] = VENV
    env.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    env.setdefault("LC_ALL", "C.UTF-8")
    if not usable(env.get("HOME", "")):
        cache = os.path.join(VENV, "cache")
        env["HOME"] = cache
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR", "UV_CACHE_DIR", "PIP_CACHE_DIR"):
            env[name] = os.path.join(cache, name.split("_")[0].lower())
        if os.path.isdir(VENV):
            os.makedirs(cache, exist_ok=True)
    return env


def usable(home):
    """Return whether caches can be written under this home directory."""
    return os.path.isabs(home) and os.path.isdir(home) and os.access(home, os.W_OK | os.X_OK)


def run(*command, **options):
    """Run a command in this folder and return its exit status."""
    options.setdefault("env", surroundings())
    sys.stdout.flush()
    return subprocess.call(list(command), cwd=HERE, **options)


def quietly(*command):
    return run(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


# --- set-up -----------------------------------------------------------------------------------------------------


def made_of():
    """Return the Python version, the path and the package lists from which an environment would be made now."""
    parts = {"python": "%d.%d" % sys.version_info[:2], "place": VENV}
    for name in ("requirements.lock", "pyproject.toml"):
        with open(os.path.join(HERE, name), "rb") as file:
            parts[name] = hashlib.sha256(file.read()).hexdigest()
    return parts


def stamp():
    """Return the values of made_of for the present environment, or {} if it is absent or incomplete."""
    try:
        with open(STAMP, encoding="utf-8") as file:
            parts = json.load(file)
    except (OSError, ValueError):
        return {}
    return parts if isinstance(parts, dict) and os.access(PYTHON, os.X_OK) else {}


@functools.lru_cache(maxsize=None)  # at most once for each call of make.py
def setup():
    """Make .venv, install everything, compile the hot path and store Spark's classes. Skip the steps that are already
    done.
    """
    is_new = stamp() != made_of()
    if is_new:
        with one_at_a_time():
            if stamp() != made_of():  # Another process may have made it in the meantime.
                make_environment()
    # Print what is missing for compiling only once, and not at every command.
    is_asked = is_new or sys.argv[1:] == ["setup"]
    compiling = [PYTHON, "-m", "mobilenet.engine.build_native"]
    if not is_asked:
        run(*compiling)
        return
    classes = subprocess.Popen(  # Both commands run at the same time, because each keeps only one processor busy.
        [PYTHON, "-m", "mobilenet.lab.studies.query.spark_classes"], cwd=HERE, env=surroundings()
    )
    run(*compiling, "--again")
    classes.wait()


def make_environment():
    """Fill .venv. Write the stamp last."""
    wanted = made_of()
    present = stamp()
    began = time.monotonic()
    # If only the lists of packages have changed, keep the environment.
    if present and all(present.get(key) == wanted[key] for key in ("python", "place")):
        os.remove(STAMP)
    else:
        make_venv()
    install()
    shutil.rmtree(os.path.join(VENV, "cache"), ignore_errors=True)
    with open(STAMP + ".part", "w", encoding="utf-8") as file:
        json.dump(wanted, file)
    os.replace(STAMP + ".part", STAMP)
    hint = "; try: python3 make.py demo" if sys.argv[1:] == ["setup"] else ""
    say("ready after %.0f s%s" % (time.monotonic() - began, hint))


@contextlib.contextmanager
def one_at_a_time():
    """Hold a lock, because two set-ups at the same time would destroy each other's environment."""
    import fcntl

    with open(os.path.join(HERE, ".venv.lock"), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("waiting for another set-up to finish")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_venv():
    """Make a new .venv with pip in it. On Debian without python3-venv, the module venv exists but cannot install
    pip.
    """
    say("creating .venv with Python %d.%d.%d" % sys.version_info[:3])
    if os.path.islink(VENV):
        os.remove(VENV)
    shutil.rmtree(VENV, ignore_errors=True)
    if quietly(sys.executable, "-m", "venv", VENV) and has_pip():
        return
    shutil.rmtree(VENV, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        wheel = None
        # Without a module venv, uv makes the environment.
        if not quietly(sys.executable, "-m", "venv", "--without-pip", VENV):
            wheel = download("pip", place)
            uv_requirement = requirements_of("uv", place)
            if run(
                sys.executable, os.path.join(wheel, "pip"), "install", "-q", "--target", place, "-r", uv_requirement
            ) or run(os.path.join(place, "bin", "uv"), "venv", "-q", "--python", sys.executable, VENV):
                raise Refusal("could not create a virtual environment: install python3-venv, or another Python")
        if (
            quietly(sys.executable, "-m", "pip", "--python", PYTHON, "install", "-r", requirements_of("pip", place))
            and has_pip()
        ):
            return
        wheel = wheel or download("pip", place)
        if run(PYTHON, os.path.join(wheel, "pip"), "install", "-q", "--no-index", wheel):
            raise Refusal("could not install pip into .venv: install python3-venv")


def has_pip():
    return quietly(PYTHON, "-m", "pip", "--version")


def install():
    """Install the packages of the lock and then the project itself. uv is much faster than pip, which is used if uv
    fails.
    """
    env = surroundings()
    settings = pip_settings()
    if "index-url" in settings:  # uv does not read the configuration of pip
        env.setdefault("UV_DEFAULT_INDEX", settings["index-url"])
    if "cert" in settings:
        env.setdefault("SSL_CERT_FILE", settings["cert"])
    env.setdefault("UV_HTTP_TIMEOUT", "180")
    with tempfile.TemporaryDirectory() as place:
        pip = [PYTHON, "-m", "pip", "install", "--no-deps"]
        if run(*[*pip, "-q", "-r", requirements_of("uv", place)], env=env):
            say("uv could not be installed; continuing with pip")
        uv = [os.path.join(BIN, "uv"), "pip", "install", "--no-config", "--python", PYTHON, "--no-deps"]
        say("installing the packages in requirements.lock: 1.2 GB, one minute or more")
        for tool in (uv, pip):
            if not os.path.exists(tool[0]):
                continue
            if run(*[*tool, "--require-hashes", "-r", LOCK], env=env) == 0:
                break
            say("%s failed" % os.path.basename(tool[0]))
        else:
            raise Refusal(
                "the packages could not be installed: see above (is there a network? PIP_INDEX_URL selects a mirror)"
            )
    # Install the project as a plain path. Python would ask an import finder only after searching the folder of a
    # script, where a clone is also called mobilenet.
    compat = ["--config-settings", "editable_mode=compat"]
    itself = [*pip, "-q", "--no-build-isolation", "--no-index", *compat, "--editable", HERE]
    done = subprocess.run(itself, env=env, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Refusal("the project itself could not be installed:\n" + done.stdout.decode(errors="replace"))


def requirements_of(name, place):
    """Write a requirements file with the entry of the lock for one package, including hashes. Return its path."""
    path = os.path.join(place, name + ".txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(lock_entry(name))
    return path


def lock_entry(name):
    with open(LOCK, encoding="utf-8") as file:
        match = re.search(r"^%s==[^\n]*\\\n(?: +--hash=[^\n]*\n)+" % re.escape(name), file.read(), re.MULTILINE)
    if not match:
        raise Refusal("requirements.lock does not contain %s" % name)
    return match.group(0)


def download(name, place):
    """Download the pure-Python wheel of a package in the lock, only with the standard library."""
    entry = lock_entry(name)
    version = entry.split("==")[1].split()[0]
    wanted = "%s-%s-py3-none-any.whl" % (name, version)
    page_url = "%s/%s/" % (pip_settings().get("index-url", INDEX).rstrip("/"), name)
    try:
        with urllib.request.urlopen(page_url, timeout=60) as answer:
            page = answer.read().decode()
        link = re.search(r'href="([^"]*/%s)[#"]' % re.escape(wanted), page)
        if not link:
            raise Refusal("%s does not offer %s" % (page_url, wanted))
        with urllib.request.urlopen(urllib.parse.urljoin(page_url, link.group(1)), timeout=60) as answer:
            data = answer.read()
    except OSError as error:
        raise Refusal("cannot read %s: %s" % (page_url, error))  # noqa: B904
    if "sha256:" + hashlib.sha256(data).hexdigest() not in entry:
        raise Refusal("%s does not have the hash that requirements.lock gives" % wanted)
    path = os.path.join(place, wanted)
    with open(path, "wb") as file:
        file.write(data)
    return path


def pip_settings():
    """Return those settings of pip that other installers need as well: index-url and cert."""
    home = os.environ.get("HOME", "")
    parser = configparser.RawConfigParser(strict=False)
    places = ["/etc/pip.conf", os.path.join(home, ".pip", "pip.conf")]
    places.append(os.path.join(os.environ.get("XDG_CONFIG_HOME", os.path.join(home, ".config")), "pip", "pip.conf"))
    places.append(os.environ.get("PIP_CONFIG_FILE", ""))
    settings = {}
    with contextlib.suppress(configparser.Error):
        parser.read(place for place in places if os.path.isabs(place))
        for section in ("global", "install"):
            if parser.has_section(section):
                settings.update(parser.items(section))
    for name in ("index-url", "cert"):
        value = os.environ.get("PIP_" + name.upper().replace("-", "_"))
        if value:
            settings[name] = value
    return settings


# --- the commands -----------------------------------------------------------------------------------------------


def tool(*command):
    """Run a program of the environment. Exit with its status if it fails."""
    setup()
    name = os.path.join(BIN, command[0])
    status = run(name, *command[1:])
    if status:
        sys.exit(status if 0 < status < 256 else 1)


def demo(arguments):
    """three runs with maps and a report, in runs/: a street grid, a town with walls, and a minute of walking hosts"""
    for name, more in (("streets", []), ("town", []), ("dynamic", ["--set", "duration_s=60"])):
        out = os.path.join("runs", "demo_" + name)
        shutil.rmtree(os.path.join(HERE, out), ignore_errors=True)
        # Record the outcome of every frame, so that the map can show where frames collide.
        tool("mobilenet", "run", "scenarios/%s.yaml" % name, "--out", out, "--set", "record.frames=true", *more)
        tool("mobilenet", "map", out, "-o", os.path.join(out, "map.html"), "--quiet")
    report = os.path.join(out, "report.html")
    tool("mobilenet", "report", out, "-o", report)
    say(
        "The demo created two animated maps, runs/demo_streets/map.html and runs/demo_town/map.html,"
        " and a report that contains one, %s." % report
    )
    say("Next: open them in a browser; then follow the first hour in README.md")


REST = "long or spark or browser"
SPREAD = ["-nauto", "--maxprocesses=4", "--max-worker-restart=0", "--dist=loadfile", "--no-loadscope-reorder"]
# Two more workers than processors, but at most four, because these tests wait for Java, browsers and programs.
WAITING = ["-n%d" % min(4, 2 + (os.cpu_count() or 1))]


def test(arguments):
    """the tests that take a few minutes, on up to four processors; further arguments go to pytest"""
    pytest("not (%s)" % REST, arguments)


def test_rest(arguments):
    """all other tests: those with Spark or a browser, and long ones"""
    pytest(REST, arguments or WAITING)


def test_all(arguments):
    """all tests, in up to four processes"""
    pytest("", arguments or WAITING)


def pytest(marks, arguments):
    spread = ["-m", marks] if marks else []
    # Do not spread a selection of tests over processors, because each of them would first import everything.
    if all(word.startswith("-") for word in arguments):
        spread += SPREAD
    tool("python", "-m", "pytest", *(spread + list(arguments)))


# These tests are selected by path. To select them by mark, pytest would have to import all files first, which takes
# longer than the tests.
FAST = (
    "tests/test_layering.py",
    "tests/test_style.py",
    "tests/test_kernel.py",
    "tests/test_metrics.py",
    "tests/lab/hunt/controlled",
    "tests/network/radio/test_mac.py",
    "tests/network/radio/test_medium.py",
    "tests/network/wired",
    "tests/protocols/mobile_causal/test_clauses.py",
    "tests/scenario/test_load.py",
    "tests/scenario/test_schema.py",
    "tests/world/tracks/test_round_trip.py",
    "tests/verify/test_verdicts.py",
    "tests/world/test_layout_coverage.py",
)


def test_fast(arguments):
    """quick tests of every package, which take less than a minute in total"""
    there = [path for path in FAST if os.path.exists(os.path.join(HERE, path))]
    tool("python", "-m", "pytest", *(SPREAD + there + list(arguments)))


CORE = os.path.join(HERE, ".venv-core")
OF_CORE = (
    "tests/network",
    "tests/protocols",
    "tests/scenario",
    "tests/simulation",
    "tests/verify",
    "tests/why",
    "tests/world",
    "tests/test_kernel.py",
    "tests/test_metrics.py",
    "tests/test_simulation.py",
    "tests/test_streams.py",
)


def test_core(arguments):
    """the tests of the core, in an environment that contains only the packages of a plain installation"""
    import tomllib

    setup()
    with open(os.path.join(HERE, "pyproject.toml"), "rb") as file:
        needed = tomllib.load(file)["project"]["dependencies"]
    uv = os.path.join(BIN, "uv")
    python = os.path.join(CORE, "bin", "python")
    needed += ["pytest", "pytest-xdist", "pytest-timeout", "hypothesis"]
    if run(uv, "venv", "-q", "--clear", "--python", PYTHON, CORE) or run(
        uv, "pip", "install", "-q", "--no-config", "--python", python, "-c", LOCK, *needed
    ):
        raise Refusal("the environment of the core could not be made: see above")
    without_pictures = "--ignore=tests/world/tracks/test_inspection.py"
    marks = ["-m", "not (%s or programs or lab)" % REST, without_pictures]
    sys.exit(run(python, "-m", "pytest", *(marks + SPREAD + list(OF_CORE) + list(arguments))))


PROSE = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "mobilenet",
    "viz",
    "tests",
    "validation",
    "scenarios",
    "make.py",
)


def check(arguments):
    """lint, spelling, format, types, layers, and whether the documents can be built"""
    tool("codespell", *(words for words in PROSE if os.path.exists(os.path.join(HERE, words))))
    tool("ruff", "check", ".")
    tool("ruff", "format", "--check", "--quiet", ".")
    mypy = subprocess.Popen(  # runs at the same time, because it takes as long as the tests of texts
        [os.path.join(BIN, "mypy"), "mobilenet", "viz"], cwd=HERE, env=surroundings(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
    )  # fmt: skip
    try:
        # This collects all tests, and so compiles them to bytecode for the next test run.
        tool("python", "-m", "pytest", "-m", "text")
    finally:
        sys.stdout.write(mypy.communicate()[0])
    if mypy.returncode:
        sys.exit(mypy.returncode)
    docs(["--quiet"])


def docs(arguments):
    """the documents as a website that opens from disk: site/index.html"""
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    tool("mkdocs", "build", "--strict", *arguments)
    say("Next: open site/index.html in a browser")


def bench(arguments):
    """the speed of the simulator, relative to a bare event queue"""
    tool("mobilenet", "bench", *arguments)


def validate_scenarios(arguments):
    """run and judge every scenario at full length with 20 seeds; resumes where it was stopped"""
    tool("python", "-m", "validation.scenarios", *arguments)


def validate_radio(arguments):
    """compare reception by power with results of ns-3, and write docs/validation/sinr.md"""
    tool("python", "-m", "validation.radio", *arguments)


def validate_statistics(arguments):
    """check the intervals of studies in synthetic experiments with known answers"""
    tool("python", "-m", "validation.statistics", *arguments)


def test_docs(arguments):
    """the long commands in the documents, about half an hour; the tests run the quick ones"""
    tool("python", "-m", "tests.long_docs", *arguments)


def dist(arguments):
    """a source archive, and a wheel made from it, in dist/ or a given folder; compiled if there is a compiler"""
    setup()
    folder = os.path.abspath(arguments[0] if arguments else os.path.join(HERE, "dist"))
    env = dict(surroundings(), MOBILENET_COMPILED_THERE=os.path.join(HERE, "mobilenet", "__compiled__"))
    # The wheel is built from the archive, so stray files in the clone do not get in.
    with tempfile.TemporaryDirectory() as place:
        code = (
            "import sys; from mobilenet.record.stamp import keeping_commit; from setuptools import build_meta\n"
            "with keeping_commit(): print(build_meta.build_sdist(sys.argv[1]))"
        )
        steps = (
            [PYTHON, "-c", code, place],
            [PYTHON, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", place],
        )
        for step in steps:
            archives = [os.path.join(place, name) for name in os.listdir(place)]
            done = subprocess.run(step + archives, env=env, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode:
                raise Refusal("the package could not be built:\n" + done.stdout.decode(errors="replace"))
        os.makedirs(folder, exist_ok=True)
        for name in sorted(os.listdir(place)):
            shutil.copyfile(os.path.join(place, name), os.path.join(folder, name))
            say(os.path.join(folder, name))


def cluster(arguments):
    """a Spark master and two workers on this machine, until Ctrl-C"""
    tool("python", "-m", "mobilenet.lab.studies.cluster", *arguments)


def clean(arguments):
    """remove the environment, the caches, runs/ and studies/"""
    for folder in (
        ".venv",
        ".venv-core",
        "runs",
        "studies",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
        "mobilenet.egg-info",
        "build",
        "dist",
        "site",
        "mobilenet/__compiled__",
    ):
        shutil.rmtree(os.path.join(HERE, folder), ignore_errors=True)
    for folder, inside, _ in os.walk(HERE):
        if "__pycache__" in inside:
            shutil.rmtree(os.path.join(folder, "__pycache__"), ignore_errors=True)
        inside[:] = [name for name in inside if name not in ("__pycache__", ".git")]


def usage(arguments):
    """print this list of targets"""
    print("python3 make.py COMMAND, or make COMMAND:\n")
    for name, command in COMMANDS.items():
        print("  %-19s %s" % (name, command.__doc__))


COMMANDS = {
    "setup": lambda arguments: setup(),
    "demo": demo,
    "test": test,
    "test-rest": test_rest,
    "test-all": test_all,
    "test-fast": test_fast,
    "test-core": test_core,
    "check": check,
    "docs": docs,
    "bench": bench,
    "validate-scenarios": validate_scenarios,
    "validate-radio": validate_radio,
    "validate-statistics": validate_statistics,
    "test-docs": test_docs,
    "dist": dist,
    "cluster": cluster,
    "clean": clean,
    "help": usage,
}
COMMANDS["setup"].__doc__ = "create .venv and install everything; the other commands do this if needed"


def say(text):
    print("mobilenet: " + text, file=sys.stderr, flush=True)


def main():
    if os.name == "nt":
        raise Refusal("it runs on Linux and macOS; on Windows use it within WSL")
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        raise Refusal(
            "Python %d.%d to %d.%d is needed, but %s is %d.%d: use another one, for example `python3.11 make.py`"
            % (OLDEST + NEWEST + (sys.executable or "this one",) + tuple(sys.version_info[:2]))
        )
    name = sys.argv[1] if len(sys.argv) > 1 else "help"
    if name not in COMMANDS:
        raise Refusal("unknown command %r; expected one of %s" % (name, " ".join(COMMANDS)))
    COMMANDS[name](sys.argv[2:])


if __name__ == "__main__":
    try:
        main()
    except Refusal as refusal:
        say(str(refusal))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
