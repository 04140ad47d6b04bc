/**
 * `gateway console`: the terminal UI for operators. Source: design decisions, section 9; operator console reference,
 * part B.
 *
 * Status 0 if the operator quits, 2 without a terminal, 3 if no gateway was ever reached. After a signal it is 128 plus
 * the number of the signal, and the terminal is restored first.
 */

import { appendFileSync, openSync } from "node:fs";
import type { ConsoleEnd, RecordFile } from "../../console/index.ts";
import { chooseAddresses } from "../choose-address.ts";
import { addressesOf, contextsOf, endpointText } from "../console-contexts.ts";
import { createPorts } from "../console-ports.ts";
import { chooseTheme, faultLine, findSettings } from "../console-settings.ts";
import { type FlagsOf, UsageError } from "../parse-flags.ts";
import { type ExitStatus, type Io, resolvePath } from "../process-io.ts";
import type { consoleFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof consoleFlags>;

/** Exit status by the signal that ended the console, as shells report it. */
const STATUS_OF = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const satisfies Record<string, ExitStatus>;

export async function run(options: Options, _: readonly string[], io: Io): Promise<ExitStatus> {
  if (options.checkSettings) return await checkSettings(io);
  checkOptions(options, io);
  const end = await openUntilClosed(options, io);
  switch (end.kind) {
    case "left":
      return 0;
    case "never_reached":
      io.stderr.write(`gateway console: ${end.message}\n`);
      return 3;
    case "signal":
      return STATUS_OF[end.signal];
    default:
      return end satisfies never;
  }
}

/** Throws `UsageError` before anything is loaded or opened. */
function checkOptions(options: Options, io: Io): void {
  const { metrics, audit, context } = options;
  if (!io.isTerminal("stdin") || !io.isTerminal("stdout")) {
    throw new UsageError("needs a terminal on stdin and stdout; scripts use 'gateway admin' and 'gateway query'");
  }
  if (metrics !== undefined && !isHttpUrl(metrics)) {
    throw new UsageError("flag '-metrics' takes the URL of a metrics page, such as http://127.0.0.1:9464/metrics");
  }
  if (audit === "") throw new UsageError("flag '-audit' takes the name of a file");
  if (context !== undefined && (options.socket !== undefined || options.url !== undefined)) {
    throw new UsageError("-context is given with -socket or -url; give one");
  }
  if (context === undefined) chooseAddresses(options, io);
}

/** Opens the console, and again with the addresses of another context as often as the operator switches to one. */
async function openUntilClosed(options: Options, io: Io): Promise<Exclude<ConsoleEnd, { kind: "context" }>> {
  const { NO_SETTINGS, openConsole } = await import("../../console/index.ts");
  const { path = "", read } = await findSettings(io);
  // A broken settings file does not keep the console from opening; the console reports what is wrong with it.
  const settings = read.kind === "good" ? read.value : NO_SETTINGS;
  const theme = await chooseTheme(options.theme, settings, io);
  const contexts = await contextsOf(settings.contexts, io);
  const { audit } = options;
  const common = {
    env: io.env,
    isReadOnly: options.readonly,
    isAscii: options.ascii,
    metricsUrl: options.metrics,
    auditFile: audit === undefined ? undefined : resolvePath(io, audit),
    settings,
    settingsText:
      read.kind === "good"
        ? undefined
        : `settings are not used: ${faultLine(path, read.faults[0])}; gateway console -check-settings lists all faults`,
    theme,
    hasMouse: options.mouse === undefined ? (settings.hasMouse ?? true) : options.mouse === "on",
    contexts: contexts.map((one) => ({ name: one.name, address: endpointText(one) })),
    signal: io.signal,
  };
  let { context } = options;
  let endpoints = context === undefined ? chooseAddresses(options, io) : addressesOf(context, contexts, io);
  const record = options.record === undefined ? undefined : openRecord(resolvePath(io, options.record), io);
  for (;;) {
    const end = await openConsole({ ...common, endpoints, context, record, ports: createPorts(io) });
    if (end.kind !== "context") return end;
    context = end.name;
    endpoints = addressesOf(context, contexts, io);
  }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

async function checkSettings(io: Io): Promise<ExitStatus> {
  const { path = "", read, exists } = await findSettings(io);
  if (read.kind === "bad") {
    for (const fault of read.faults) io.stdout.write(`${faultLine(path, fault)}\n`);
    return 1;
  }
  const { themes, keys, commands, contexts } = read.value;
  const summary = [
    `${themes.size} themes`,
    `${keys.ownOf.size} keys`,
    `${commands.length} commands`,
    `${contexts.length} contexts`,
  ].join(", ");
  io.stdout.write(exists ? `${path}: good: ${summary}\n` : `${path}: there is no such file, so the defaults apply\n`);
  return 0;
}

/** Creates the file for a recording; refuses an existing one. Appends are synchronous. */
function openRecord(path: string, io: Io): RecordFile {
  try {
    const file = openSync(path, "wx", 0o600);
    let length = 0;
    return {
      beganAt: io.now(),
      get length() {
        return length;
      },
      append(text) {
        appendFileSync(file, text);
        length += text.length;
      },
    };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    throw new UsageError(`-record ${path}: ${code === "EEXIST" ? "it already exists" : `it cannot be made: ${code}`}`);
  }
}
