"""Where the process ``pdual`` begins: what must be so before the first heavy import."""

from __future__ import annotations

import gc
import os


def main() -> None:
    """Run the command of ``sys.argv`` and leave the process with its exit code."""
    # A command that answers and goes makes little garbage; looking for it is a sixth of its time. `run` and `compare`
    # turn it on again.
    gc.disable()
    # What this process starts in turn, joblib's workers too, looks for no module in the current folder.
    os.environ["PYTHONSAFEPATH"] = "1"
    # Looking for pydantic's plug-ins reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from pdual.cli.main import main as command_line
    from pdual.runtime.system.parent import end_with_named

    end_with_named()

    command_line()


if __name__ == "__main__":
    main()
