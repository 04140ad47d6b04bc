/**
 * Acceptance item 2: however the console ends, the terminal is restored, and the shell gets the right status.
 *
 * Faults are injected: a module that Node loads before the program makes it throw on SIGUSR2.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openTerminal, type TestTerminal } from "../../../console/support/terminal.ts";
import { eventually, type Owner, within } from "../../support/wait.ts";
import { type ConsoleGateway, consoleArgs, homeOf } from "../support/console-gateway.ts";

const BEFORE = "the shell was here";

/** Shell script that runs the console between two checks of the terminal mode. */
const SCRIPT = `
  echo "${BEFORE}"; stty -g > "$HOME/before"
  sh -c 'echo $$ > "$HOME/pid"; exec "$@"' console "$@"
  echo "status $?"; stty -g > "$HOME/after"
`;

interface Shell {
  readonly terminal: TestTerminal;
  readonly home: string;
  /** Sends a signal to the console. */
  signal(name: NodeJS.Signals): void;
}

const fault = (code: string): string =>
  `--import data:text/javascript,${encodeURIComponent(`process.on("SIGUSR2", () => { ${code} })`)}`;

export function leavingTests({ socket }: ConsoleGateway): void {
  const program = [process.execPath, ...consoleArgs(socket)];

  async function open(t: Owner, env: Readonly<Record<string, string>> = {}): Promise<Shell> {
    const home = await homeOf(t);
    const options = { env: { HOME: home, ...env }, columns: 100, rows: 30 };
    const terminal = openTerminal(t, { command: "bash", args: ["-c", SCRIPT, "bash", ...program], ...options });
    await terminal.until(/live \ds/);
    assert.deepEqual([terminal.isAlternate, terminal.cursorVisible], [true, false]);
    const pid = Number(readFileSync(join(home, "pid"), "utf8"));
    return { terminal, home, signal: (name) => void process.kill(pid, name) };
  }

  /** Asserts the shell's output on the restored screen; `more` are the lines in between. */
  async function assertRestored({ terminal, home }: Shell, status: number, more: RegExp = /^$/): Promise<void> {
    assert.deepEqual(await within("the end of the shell", terminal.ended), { status: 0, signal: null });
    assert.deepEqual([terminal.isAlternate, terminal.cursorVisible], [false, true], terminal.screen());
    // A terminal query of a console that died is answered to the shell, which prints it, before or after its own line.
    const lines = terminal
      .screen()
      .replace(/(\^\[\[0n)+/g, "")
      .trimEnd()
      .split("\n");
    assert.equal(lines[0], BEFORE);
    assert.equal(lines.at(-1), `status ${status}`, terminal.screen());
    assert.match(lines.slice(1, -1).join("\n"), more);
    assert.equal(readFileSync(join(home, "after"), "utf8"), readFileSync(join(home, "before"), "utf8"), "stty");
    const text = terminal.bytes.text();
    for (const mode of ["2004", "2026"]) {
      assert.ok(text.lastIndexOf(`\u001b[?${mode}l`) > text.lastIndexOf(`\u001b[?${mode}h`), `mode ${mode} is off`);
    }
  }

  for (const key of ["q", "ctrl-c"]) {
    test(`leaving with ${key} exits with status 0`, async (t) => {
      const shell = await open(t);
      await shell.terminal.press(key);
      await assertRestored(shell, 0);
    });
  }

  for (const [name, status] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGINT", 130],
  ] as const) {
    test(`${name} with a dialog open exits with status ${status} for the shell`, async (t) => {
      const shell = await open(t);
      await shell.terminal.press("3", "m");
      await shell.terminal.until("Mint a key");
      shell.signal(name);
      await assertRestored(shell, status, /^(.*(Terminated|Hangup).*)?$/s);
    });
  }

  for (const [what, code, message] of [
    ["an uncaught error", 'setTimeout(() => { throw new Error("out of nowhere") })', /Error: out of nowhere/],
    ["an unhandled rejection", 'Promise.reject(new Error("left alone"))', /Error: left alone/],
    [
      "an error while a frame is drawn",
      'String.prototype.repeat = () => { throw new Error("no more lines") }',
      /^gateway console: no more lines$/,
    ],
    [
      "an error inside a component",
      `const { fromCharCode } = String;
       String.fromCharCode = (...args) => {
         if (new Error().stack.includes("token" + "Of")) throw new Error("no such row");
         return fromCharCode(...args);
       }`,
      /^gateway console: no such row$/,
    ],
  ] as const) {
    test(`${what} exits with status 1, and the error is readable`, async (t) => {
      const shell = await open(t, { NODE_OPTIONS: fault(code) });
      shell.signal("SIGUSR2");
      // The next second draws the next frame.
      await assertRestored(shell, 1, message);
    });
  }

  test("closing the terminal ends the console at once by SIGHUP", async (t) => {
    const terminal = openTerminal(t, { args: program.slice(1), env: { HOME: await homeOf(t) } });
    await terminal.until(/live \ds/);
    terminal.hangUp();
    assert.deepEqual(await within("the end", terminal.ended), { status: null, signal: "SIGHUP" });
  });

  test("Ctrl-Z gives the terminal back to the shell, and fg brings the console back", async (t) => {
    const home = await homeOf(t);
    const env = { HOME: home, PS1: "$ ", COMMAND: program.join(" ") };
    const terminal = openTerminal(t, {
      command: "bash",
      args: ["--norc", "--noprofile", "-i"],
      env,
      columns: 100,
      rows: 30,
    });
    await terminal.until("$");
    terminal.type("$COMMAND\r");
    await terminal.until(/live \ds/);
    for (let round = 0; round < 2; round += 1) {
      await terminal.press("ctrl-z");
      await terminal.until("Stopped");
      assert.deepEqual([terminal.isAlternate, terminal.cursorVisible], [false, true]);
      assert.doesNotMatch(terminal.screen(), /Overview/);
      // These are lines for the shell: if the console were not stopped, the q would end it.
      terminal.type(`echo in the shell q ${round} $((6 * 7))\r`);
      await terminal.until(`in the shell q ${round} 42`);
      terminal.resize(110 + round, 32);
      terminal.type("fg\r");
      await terminal.until((screen) => screen.includes("Overview") && /live \ds/.test(screen));
      await eventually("the new width", () => terminal.row(2).length === 110 + round);
      assert.deepEqual([terminal.isAlternate, terminal.cursorVisible], [true, false]);
    }
    await terminal.press("q");
    await terminal.until(/\$COMMAND\n\$$/, "the prompt of the shell");
    terminal.type("echo status $?\r");
    await terminal.until("status 0");
    assert.deepEqual([terminal.isAlternate, terminal.cursorVisible], [false, true]);
    terminal.type("exit\r");
    await within("the end of the shell", terminal.ended);
    assert.deepEqual([terminal.bytes.clears, terminal.bytes.scrollbackClears], [3, 0], "once each time it begins");
  });
}
