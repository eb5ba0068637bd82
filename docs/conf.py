"""The site of the documentation: `sphinx-build -W docs site`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import catalogue
import functions

from pdual import __version__
from pdual.highlighting import PdualLexer

project = "pdual"
release = __version__
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["images"]
html_theme = "alabaster"
html_theme_options = {"description": "Requirements that hold on every sample", "page_width": "1100px"}


def setup(app):
    """Highlight specs also where the package is imported without being installed."""
    app.add_lexer("pdual", PdualLexer)


catalogue.write(Path(__file__).parent)
functions.write(Path(__file__).parent)
