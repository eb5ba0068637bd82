// Starts `pdual lsp` and hands it the open specs.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("pdual").get("command");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("pdual", "pdual", server, { documentSelector: [{ language: "pdual" }] });
  return client.start();
};

exports.deactivate = () => client && client.stop();
