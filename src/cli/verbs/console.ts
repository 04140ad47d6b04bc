/**
 * `gateway console`: the operator's terminal. Source: design decisions, section 9; operator console reference, part B.
 *
 * Status 0 when the operator leaves, 2 without a terminal, 3 when no gateway was ever reached. After a signal it is
 * 128 and the signal's number, once the terminal is as it was.
 */

import { createPorts } from "../console-ports.ts";
import { chooseTheme, faultLine, findSettings } from "../console-settings.ts";
import { chooseDoors } from "../door.ts";
import { type FlagsOf, UsageError } from "../flags.ts";
import { type ExitStatus, type Io, resolvePath } from "../io.ts";
import type { consoleFlags } from "../specs.ts";

type Options = FlagsOf<typeof consoleFlags>;

/** As a shell tells of a process that the signal ended. */
const STATUS_OF = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const satisfies Record<string, ExitStatus>;

export async function run(options: Options, _: readonly string[], io: Io): Promise<ExitStatus> {
  const { metrics, audit } = options;
  if (options.checkSettings) return await checkSettings(io);
  if (!io.isTerminal("stdin") || !io.isTerminal("stdout")) {
    throw new UsageError("needs a terminal on stdin and stdout; scripts use 'gateway admin' and 'gateway query'");
  }
  if (metrics !== undefined && !isHttpUrl(metrics)) {
    throw new UsageError("flag '-metrics' takes the URL of a metrics page, such as http://127.0.0.1:9464/metrics");
  }
  if (audit === "") throw new UsageError("flag '-audit' takes the name of a file");
  const doors = chooseDoors(options, io);
  const { NO_SETTINGS, openConsole } = await import("../../console/index.ts");
  const { path = "", read } = await findSettings(io);
  // Who is called at night gets a console whatever the file says; what is wrong with it is told there.
  const settings = read.kind === "good" ? read.value : NO_SETTINGS;
  const theme = await chooseTheme(options.theme, settings, io);
  const end = await openConsole({
    doors,
    ports: createPorts(io),
    env: io.env,
    isReadOnly: options.readonly,
    isAscii: options.ascii,
    metricsUrl: metrics,
    auditFile: audit === undefined ? undefined : resolvePath(io, audit),
    settings,
    settingsWords:
      read.kind === "good"
        ? undefined
        : `settings are not used: ${faultLine(path, read.faults[0])}; gateway console -check-settings tells all`,
    theme,
    signal: io.signal,
  });
  switch (end.kind) {
    case "left":
      return 0;
    case "never_reached":
      io.stderr.write(`gateway console: ${end.words}\n`);
      return 3;
    case "signal":
      return STATUS_OF[end.signal];
    default:
      return end satisfies never;
  }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

async function checkSettings(io: Io): Promise<ExitStatus> {
  const { path = "", read, isThere } = await findSettings(io);
  if (read.kind === "bad") {
    for (const fault of read.faults) io.stdout.write(`${faultLine(path, fault)}\n`);
    return 1;
  }
  const { themes, keys, commands, contexts } = read.value;
  const said = [
    `${themes.size} themes`,
    `${keys.ownOf.size} keys`,
    `${commands.length} commands`,
    `${contexts.length} contexts`,
  ].join(", ");
  io.stdout.write(isThere ? `${path}: good: ${said}\n` : `${path}: there is no such file, which is good too\n`);
  return 0;
}
