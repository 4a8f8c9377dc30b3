#!/usr/bin/env node
import { readEnvironment } from "../config/environment.js";
import { flushed, processCommandLine } from "./process-command-line.js";
import { run } from "./run.js";

const exitCode = await run(process.argv.slice(2), processCommandLine(readEnvironment()));
await flushed();
process.exit(exitCode);
