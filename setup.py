"""The folders of this checkout as the modules of ``pdual``: ``dsl`` is ``pdual.dsl``. All else of the build is in pyproject.toml."""

from setuptools import find_packages, setup

PARTS = ("compiler", "dsl", "packs", "runtime", "specs")
INNER = find_packages(include=[pattern for part in PARTS for pattern in (part, f"{part}.*")])

setup(packages=[*find_packages(include=["pdual", "pdual.*"]), *(f"pdual.{name}" for name in INNER)])
