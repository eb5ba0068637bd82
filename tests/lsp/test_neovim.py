"""The recipe for Neovim that the documents give, in Neovim itself, where it is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EDITORS = Path(__file__).parents[2] / "docs" / "editors.md"
NVIM = shutil.which("nvim")

WRONG = """problem p "a test"
data d { x, y: real }
model f(x: real) -> real = linear()
over r in d {
    minimize (f(r.x) - r.z)^2
}
"""

#: Waits for diagnostics, mends the mistake, waits again, asks about a name, formats, and writes down what came.
ASKS = """
local said = {}
local function messages()
  local found = {}
  for _, item in ipairs(vim.diagnostic.get(0)) do table.insert(found, { item.lnum, item.code, item.message }) end
  return found
end
vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end)
said.wrong = messages()
vim.api.nvim_buf_set_lines(0, 4, 5, false, { "    minimize (f(r.x) - r.y)^2" })
vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end)
said.right = messages()
local where = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = 4, character = 14 } }
said.hover = vim.lsp.buf_request_sync(0, "textDocument/hover", where, 10000)
if vim.lsp.buf.format then vim.lsp.buf.format({ timeout_ms = 10000 }) else vim.lsp.buf.formatting_sync(nil, 10000) end
said.lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
said.filetype = vim.bo.filetype
said.comment = vim.bo.commentstring
local file = io.open("said.json", "w")
file:write(vim.fn.json_encode(said))
file:close()
vim.cmd("qall!")
"""


def recipe() -> str:
    """That for the version which is installed."""
    assert NVIM is not None
    version = re.search(r"v(\d+)\.(\d+)", subprocess.run([NVIM, "--version"], capture_output=True, text=True).stdout)
    assert version is not None
    now, before = re.findall(r"```lua\n(.*?)```", EDITORS.read_text(encoding="utf-8"), re.DOTALL)
    return str(now if (int(version[1]), int(version[2])) >= (0, 11) else before)


@pytest.mark.skipif(NVIM is None, reason="nvim is not installed")
def test_the_recipe_of_the_documents(tmp_path: Path) -> None:
    assert NVIM is not None
    (tmp_path / "init.lua").write_text(recipe())
    (tmp_path / "asks.lua").write_text(ASKS)
    (tmp_path / "wrong.pdual").write_text(WRONG)
    (tmp_path / "pdual").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pdual.cli.start "$@"\n')
    (tmp_path / "pdual").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    command = [NVIM, "--headless", "-u", "init.lua", "wrong.pdual", "-c", "luafile asks.lua"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
    assert (tmp_path / "said.json").exists(), ran.stderr
    said: dict[str, Any] = json.loads((tmp_path / "said.json").read_text())
    ((line, code, message),) = said["wrong"]
    assert (line, code) == (4, "PD107")
    assert "z" in message
    (answer,) = said["hover"] if isinstance(said["hover"], list) else said["hover"].values()
    assert "f(x: real) -> real" in answer["result"]["contents"]["value"]
    assert not said["right"]
    assert "  minimize (f(r.x) - r.y)^2" in said["lines"]
    assert (said["filetype"], said["comment"]) == ("pdual", "# %s")
