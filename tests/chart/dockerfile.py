"""Reads the Dockerfile, and replays its build on this machine where there is no container runtime.

`python -m tests.chart.dockerfile [PYTHON]` (`make image`) copies what the Dockerfile copies, runs what it runs in its
build stage with folders of this machine in the place of the image's, and then asks the program that came out. It needs a
package index. It shows that the steps work, not that the image does.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "Dockerfile"
#: Where the program is in the image.
PLACE = "/opt/fallgate"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its word in capitals, and what follows on one line."""

    word: str
    rest: str


def instructions() -> tuple[Instruction, ...]:
    """All instructions, in order."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    parts = (line.partition(" ") for line in joined.splitlines() if line.strip())
    return tuple(Instruction(word, re.sub(r"\s+", " ", rest.strip())) for word, _, rest in parts)


def stages() -> tuple[tuple[Instruction, ...], ...]:
    """The instructions of each stage, its FROM first."""
    found: list[list[Instruction]] = []
    for instruction in instructions():
        if instruction.word == "FROM":
            found.append([])
        if found:
            found[-1].append(instruction)
    return tuple(tuple(stage) for stage in found)


def replay(python: str, folder: Path) -> Path:
    """Do what the build stage does, below `folder`. Gives the folder that stands for /opt/fallgate."""
    build, place, base = folder / "build", folder / "opt" / "fallgate", folder / "base"
    build.mkdir()
    subprocess.run([python, "-m", "venv", str(base)], check=True)
    for instruction in stages()[0]:
        if instruction.word == "COPY":
            *sources, target = instruction.rest.split()
            for source in sources:
                _copy(
                    ROOT / source,
                    build / target if len(sources) == 1 and target != "./" else build / target / Path(source).name,
                )
        elif instruction.word == "RUN":
            command = instruction.rest.replace(PLACE, str(place)).replace("python -m", f"{base}/bin/python -m")
            subprocess.run(command, shell=True, cwd=build, check=True)
    return place


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(source, target)


def main() -> None:
    """Replay, then ask the program for its help and for the packs."""
    with tempfile.TemporaryDirectory() as folder:
        place = replay(sys.argv[1] if len(sys.argv) > 1 else sys.executable, Path(folder))
        program = place / "bin" / "fallgate"
        for words in (["serve", "--help"], ["check", str(ROOT / "policies" / "starter")]):
            subprocess.run([str(program), *words], check=True, stdout=subprocess.DEVNULL, cwd=folder)
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        left = sorted(path.name for path in place.rglob("*.dist-info") if re.match(r"(pip|setuptools|wheel)-", path.name))
        sys.stdout.write(f"{place} works: {size / 2**20:.0f} MiB, build tools left: {left or 'none'}\n")


if __name__ == "__main__":
    main()
