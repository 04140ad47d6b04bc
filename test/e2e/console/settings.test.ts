/** Settings, mouse, named gateways and recording, in a terminal with a gateway. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openTerminal, ptySkip, type TestTerminal } from "../../console/support/terminal.ts";
import { suiteOwner } from "../admin/support/suite.ts";
import { createOne, led, provider } from "../config/support/nodes.ts";
import { type Owner, within } from "../support/wait.ts";
import { consoleArgs, homeOf } from "./support/console-gateway.ts";

interface Options {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly size?: readonly [columns: number, rows: number];
}

describe("console with operator settings", { skip: ptySkip }, async () => {
  if (ptySkip !== false) return;
  const owner = suiteOwner();
  const node = await createOne(owner, {
    deployment: { providers: [provider("one", "http://127.0.0.1:9"), provider("two", "http://127.0.0.1:9")] },
  });
  await node.start();
  await led(node);
  const socket = join(node.dir, "admin.sock");

  async function open(
    t: Owner,
    settings: string,
    { args = [], env = {}, size: [columns, rows] = [120, 35] }: Options = {},
  ): Promise<TestTerminal & { readonly home: string }> {
    const home = await homeOf(t);
    mkdirSync(join(home, ".config", "gateway"), { recursive: true });
    writeFileSync(join(home, ".config", "gateway", "console.yaml"), settings, { mode: 0o600 });
    const terminal = openTerminal(t, {
      args: [...consoleArgs(socket), ...args],
      env: { HOME: home, ...env },
      cwd: home,
      columns,
      rows,
    });
    await terminal.until(/live \ds/);
    return Object.assign(terminal, { home });
  }

  const click = (terminal: TestTerminal, text: string): void => {
    const lines = terminal.screen().split("\n");
    const row = lines.findLastIndex((line) => line.includes(text));
    assert.ok(row >= 0, `${text}\n${terminal.screen()}`);
    const column = (lines[row] ?? "").indexOf(text);
    terminal.type(`\u001b[<0;${column + 1};${row + 1}M\u001b[<0;${column + 1};${row + 1}m`);
  };

  test("a rebound key works, a custom command asks, runs and shows its output, and a click opens a row", async (t) => {
    const terminal = await open(
      t,
      'keys: {suspend: F}\ncommands: [{key: ctrl-g, name: say, view: providers, run: "printf <%s> {name}"}]\n',
    );
    await terminal.press("2");
    await terminal.until(/>one/);
    click(terminal, "two ");
    await terminal.until(/>two/);
    await terminal.press("F");
    await terminal.until(/Suspend/);
    await terminal.press("esc");
    await terminal.until(/F suspend/);
    await terminal.press("ctrl-g");
    await terminal.until(/Run locally: say/);
    await terminal.press("y");
    await terminal.until("<two>");
    await terminal.press("q");
    await within("the end", terminal.ended);
    const text = terminal.bytes.text();
    assert.ok(
      text.lastIndexOf("\u001b[?1000l") > text.lastIndexOf("\u001b[?1000h"),
      "the mouse is the terminal's again",
    );
  });

  test("Enter runs an action found with ?, and text typed there reaches no view", async (t) => {
    const terminal = await open(t, "");
    await terminal.press("2");
    // The action is offered once its row and the suspensions are loaded.
    await terminal.until(/ s suspend/);
    await terminal.press("?");
    await terminal.until(/search keys:/);
    terminal.type("suspend the provider");
    await terminal.until(/> s +suspend the provider, key or other object of the row/);
    await terminal.press("enter");
    await terminal.until(/Suspend provider:one/);
    await terminal.press("esc", "?");
    terminal.type("virtual keys: profile");
    await terminal.until(/> 3 :keys/);
    await terminal.press("enter");
    await terminal.until(/Keys {2}\[3\]/);
    await terminal.press("q");
    await within("the end", terminal.ended);
  });

  test("rows are saved to a file, which is overwritten only after y, and copied to the terminal's clipboard", async (t) => {
    const terminal = await open(t, "");
    await terminal.press("2");
    await terminal.until(/>one/);
    const save = async (name: string, then: RegExp): Promise<void> => {
      await terminal.press("ctrl-s");
      await terminal.until(/save 2 rows to/);
      await terminal.press("ctrl-u");
      terminal.type(name);
      await terminal.press("enter");
      await terminal.until(then);
    };
    const path = join(terminal.home, "rows.csv");
    await save("rows.csv", /saved 2 rows to .*rows\.csv/);
    const csv = readFileSync(path, "utf8");
    assert.match(csv, /^name,dialect,state,[\s\S]*\r\none,compat,[\s\S]*\r\ntwo,compat,/);
    assert.equal(csv.split("\r\n").length, 4);
    writeFileSync(path, "mine");
    await save("rows.csv", /Replace a local file/);
    await terminal.press("esc");
    await terminal.until(/>one/);
    assert.equal(readFileSync(path, "utf8"), "mine");
    await save(path, /Replace a local file/);
    await terminal.press("y");
    await terminal.until(/saved 2 rows to/);
    assert.equal(readFileSync(path, "utf8"), csv);
    await save("rows.json", /saved 2 rows to .*rows\.json/);
    const rows: unknown = JSON.parse(readFileSync(join(terminal.home, "rows.json"), "utf8"));
    assert.deepEqual(
      (rows as readonly { readonly name: string }[]).map(({ name }) => name),
      ["one", "two"],
    );
    await terminal.press("Y", "n");
    const sequence = `\u001b]52;c;${Buffer.from("one").toString("base64")}\u0007`;
    await terminal.until(() => terminal.bytes.text().includes(sequence), "the cell on the clipboard");
    await terminal.press("q");
    await within("the end", terminal.ended);
  });

  test("columns, and a view with filter and sort under a function key, are kept for the next console", async (t) => {
    const first = await open(t, "");
    await first.press("2");
    await first.until(/>one/);
    click(first, "NAME");
    await first.until(/sort: name asc/);
    await first.press("#", "right", "space", "enter", "y");
    await first.until((screen) => /columns are shown/.test(screen) && !screen.includes("DIALECT"));
    await first.press("/");
    first.type("tw");
    await first.press("enter", "K", "f2", "enter");
    await first.until(/y {2}keep/);
    await first.press("y");
    await first.until(/F2 goes to: Providers, filter tw, sort name asc/);
    await first.press("q");
    await within("the end", first.ended);
    const next = await open(t, "", { env: { HOME: first.home } });
    await next.press("f2");
    await next.until((screen) => /sort: name asc {3}filter: tw 1 of 2/.test(screen) && />two/.test(screen));
    assert.doesNotMatch(next.screen(), /DIALECT/);
    await next.press(":");
    next.type("favorites");
    await next.press("enter");
    await next.until(/>F2 +providers +- +tw +name asc/);
    await next.press("q");
    await within("the end", next.ended);
  });

  test("from 160 columns on the detail is beside the table, and | toggles it; on narrower screens it is below", async (t) => {
    const terminal = await open(t, "", { size: [170, 50] });
    await terminal.press("2");
    await terminal.until(/NAME [^\n]*│ one ─+ │/);
    await terminal.press("down");
    await terminal.until(/>two[\s\S]*name +two/);
    await terminal.press("|");
    await terminal.until(/the detail is below the table/);
    await terminal.until(/^│ two ─{80}/m);
    await terminal.press("q");
    await within("the end", terminal.ended);
  });

  test("the mouse can be left to the terminal", async (t) => {
    for (const [settings, args] of [
      ["", ["-mouse=off"]],
      ["mouse: false\n", []],
    ] as const) {
      const terminal = await open(t, settings, { args });
      await terminal.press("q");
      await within("the end", terminal.ended);
      assert.doesNotMatch(terminal.bytes.text(), /\?1000h/);
    }
  });

  test("invalid settings are reported, and the console opens anyway", async (t) => {
    const terminal = await open(t, "keys:\n  suspend: u\n");
    await terminal.until(/settings are not used: .*console\.yaml:2:12/);
    await terminal.press("q");
    assert.equal((await within("the end", terminal.ended)).status, 0);
  });

  test("a light background is detected from the environment, a theme is applied, and NO_COLOR disables colors", async (t) => {
    const suspended = "\u001b[38;5;94m";
    for (const [args, env, isLight] of [
      [[], { COLORFGBG: "0;15" }, true],
      [["-theme", "light"], {}, true],
      [["-theme", "light"], { NO_COLOR: "1" }, false],
      [["-theme", "dark"], { COLORFGBG: "0;15" }, false],
    ] as const) {
      const terminal = await open(t, "keys: {suspend: u}\n", { args, env });
      await terminal.until(/settings are not used/);
      await terminal.press("q");
      await within("the end", terminal.ended);
      // Warnings use the theme's color.
      assert.equal(terminal.bytes.text().includes(suspended), isLight, `${args} ${JSON.stringify(env)}`);
    }
  });

  test("a gateway is opened by its configured name, which the identity line shows", async (t) => {
    const terminal = await open(t, `contexts: {lab: {socket: ${JSON.stringify(socket)}}}\n`);
    await terminal.press(":");
    terminal.type("context lab");
    await terminal.press("enter");
    await terminal.until(/gateway lab .*live \ds/);
    terminal.type(":context nowhere");
    await terminal.press("enter");
    await terminal.until(/no gateway named nowhere/);
    await terminal.press("q");
    assert.equal((await within("the end", terminal.ended)).status, 0);
    assert.equal(terminal.isAlternate, false);
  });

  test("after a switch between two gateways nothing of the first is shown or undone at the second", async (t) => {
    const far = await createOne(t, { deployment: { providers: [provider("three", "http://127.0.0.1:9")] } });
    await far.start();
    await led(far);
    const there = JSON.stringify(join(far.dir, "admin.sock"));
    const terminal = await open(t, `contexts: {near: {socket: ${JSON.stringify(socket)}}, far: {socket: ${there}}}\n`);
    const goTo = async (context: string, shows: RegExp): Promise<void> => {
      await terminal.press(":");
      terminal.type(`context ${context}`);
      await terminal.press("enter");
      await terminal.until(new RegExp(`gateway ${context} .*live \\ds`));
      await terminal.press("2");
      await terminal.until(shows);
    };
    await terminal.press("2");
    await terminal.until(/>one/);
    await terminal.press("s", "enter", "y");
    await terminal.until(/provider:one suspended for 30m \(index/);
    await terminal.press("down");
    await terminal.until(/>two[\s\S]*u undo/);
    await goTo("far", />three/);
    assert.doesNotMatch(terminal.screen(), /\bone\b|u undo/);
    await terminal.press("u");
    await terminal.until(/u: three is not suspended/);
    await goTo("near", /one +~SUSPENDED/);
    await terminal.press("down", "u");
    await terminal.until(/u: two is not suspended/);
    assert.deepEqual((await far.client.call("list_suspensions")).items, []);
    const [suspended] = (await node.client.call("list_suspensions")).items;
    assert.equal(suspended?.name, "one");
    await node.client.call("delete_suspension", { params: { kind: "provider", name: "one" } });
    await terminal.press("q");
    assert.equal((await within("the end", terminal.ended)).status, 0);
  });

  test("a session is recorded until it is killed, readable by its owner alone", async (t) => {
    const terminal = await open(t, "", { args: ["-record", "incident.cast"] });
    await terminal.press("2");
    await terminal.until(/>one/);
    terminal.signal("SIGKILL");
    await within("the end", terminal.ended);
    const lines = readFileSync(join(terminal.home, "incident.cast"), "utf8").trimEnd().split("\n");
    assert.equal(JSON.parse(lines[0] ?? "").version, 2);
    const text = lines
      .slice(1)
      .map((line) => String(JSON.parse(line)[2]))
      .join("");
    assert.match(text, /Providers[\s\S]*one/);
  });
});
