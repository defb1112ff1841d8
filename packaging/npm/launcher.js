#!/usr/bin/env node
// Starts the program of the package for this platform, which npm installs beside this one. Nothing runs at installation.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const name = `@dialectic-cli/${platform}`;
const file = process.platform === "win32" ? "dialectic.exe" : "dialectic";

let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  console.error(`error: the package ${name} is not installed`);
  console.error("hint: install again without --omit=optional; if there is none for your platform, build from source");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
// A terminal sends Ctrl-C to both: the program decides what it means. SIGQUIT of a terminal does so, too; other signals usually come to this process alone.
for (const signal of ["SIGINT", "SIGQUIT"]) {
  process.on(signal, () => {});
}
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal]));
