/** The operator's settings file: accepted settings, and errors with line and remedy. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Settings } from "../../../src/console/model/settings.ts";
import { readSettings, readTheme } from "../../../src/console/settings/index.ts";
import { paintOf } from "../../../src/console/settings/themes.ts";
import { VIEWS } from "../../../src/console/views/all.ts";

const IDS = VIEWS.map(({ id }) => id);

function good(text: string): Settings {
  const read = readSettings(text, IDS);
  assert.equal(read.kind, "good", JSON.stringify(read));
  return read.kind === "good" ? read.value : assert.fail();
}

test("all settings are accepted", () => {
  const settings = good(`
theme: night
themes:
  night: { base: light, warn: bold bright-yellow, fail: "#ff0000 on 16", selected: black on cyan }
keys:
  refresh: ctrl-t
  suspend: F
commands:
  - { key: ctrl-g, name: open the runbook, view: "providers errors", run: "open 'a b' https://wiki/{name}" }
  - { key: "!", name: log, run: "journalctl | grep {name}", shell: true }
mouse: false
contexts:
  prod: { url: "https://a.example, https://b.example" }
  lab: { socket: /run/gateway.sock }
`);
  assert.equal(settings.theme, "night");
  assert.deepEqual(settings.themes.get("night"), {
    strong: { attributes: ["bold"] },
    dim: { foreground: 242, attributes: [] },
    warn: { foreground: 11, attributes: ["bold"] },
    fail: { foreground: [255, 0, 0], background: 16, attributes: [] },
    off: { foreground: 90, attributes: [] },
    changed: { attributes: ["bold"] },
    selected: { foreground: 0, background: 6, attributes: [] },
  });
  assert.deepEqual(
    [...settings.keys.ownOf],
    [
      ["ctrl-t", "r"],
      ["F", "s"],
    ],
  );
  assert.deepEqual([...settings.keys.freed], ["r", "ctrl-l", "f5", "s"]);
  assert.deepEqual(settings.commands, [
    {
      key: "ctrl-g",
      name: "open the runbook",
      views: ["providers", "errors"],
      run: { kind: "argv", argv: ["open", "a b", "https://wiki/{name}"] },
    },
    { key: "!", name: "log", views: undefined, run: { kind: "shell", text: "journalctl | grep {name}" } },
  ]);
  assert.equal(settings.hasMouse, false);
  assert.deepEqual(settings.contexts, [
    { name: "prod", endpoint: { kind: "url", urls: ["https://a.example", "https://b.example"] } },
    { name: "lab", endpoint: { kind: "socket", path: "/run/gateway.sock" } },
  ]);
});

test("an empty file sets nothing", () => {
  for (const text of ["", "\n", "# nothing\n", "keys:\n"]) assert.equal(good(text).commands.length, 0);
});

const WRONG: readonly (readonly [text: string, line: number, message: RegExp, remedy: RegExp])[] = [
  ["theme: dusk\n", 1, /no theme dusk/, /auto, dark, light, mono/],
  ["mouse: perhaps\n", 1, /neither true nor false/, /true or false/],
  ["\n\nkyes: {}\n", 3, /no 'kyes'/, /did you mean 'keys'/],
  ["keys:\n  suspnd: x\n", 2, /there is no action 'suspnd'/, /did you mean 'suspend'/],
  ["keys:\n  suspend: supper\n", 2, /'supper' is not a key/, /ctrl-x/],
  ["keys:\n  suspend: esc\n", 2, /esc cannot be reassigned/, /another key/],
  ["keys:\n  suspend: ctrl-c\n", 2, /ctrl-c cannot/, /another/],
  ["keys:\n  suspend: 3\n", 2, /3 cannot be reassigned/, /another/],
  ["keys:\n  suspend: u\n", 2, /u is already the key of another action/, /another key to that action/],
  ["keys:\n  suspend: F\n  lift: F\n", 3, /has two actions/, /another key/],
  ["themes:\n  dark: {}\n", 2, /dark is a built-in name/, /another name/],
  ["themes:\n  mine:\n    warn: purplish\n", 3, /'purplish' is not a color/, /bright-red/],
  ["themes:\n  mine:\n    alarm: red\n", 3, /no 'alarm'/, /strong, dim/],
  ["commands:\n  - {key: s, name: a, run: b}\n", 2, /s already has an action/, /free key/],
  ["commands:\n  - {key: ctrl-g, name: a}\n", 2, /lacks key, name or run/, /all three/],
  ['commands:\n  - {key: ctrl-g, name: a, run: "\'x"}\n', 2, /not closed/, /shell: true/],
  ["commands:\n  - {key: ctrl-g, name: a, run: '{name} x'}\n", 2, /name of a program/, /no field/],
  ["commands:\n  - {key: ctrl-g, name: a, run: x, view: provders}\n", 2, /no view provders/, /`:`/],
  [
    "commands:\n  - {key: ctrl-g, name: a, run: x}\n  - {key: ctrl-g, name: b, run: y, view: keys}\n",
    3,
    /two commands/,
    /another/,
  ],
  ["contexts:\n  'a b': {socket: /x}\n", 2, /not a name/, /letters/],
  ["contexts:\n  a: {url: nowhere}\n", 2, /has no address/, /https/],
  ["a: [\n", 2, /not valid YAML/, /correct the line/],
  ["keys: &a {}\ncommands: *a\n", 2, /not a list/, /dash/],
  ["keys:\n  lift: !!binary aGk=\n", 2, /not a text|not valid YAML/, /./],
  ["- 1\n", 1, /not a mapping/, /names with values/],
  [`keys:\n  lift: "\\u0000"\n`, 2, /NUL/, /characters/],
];

describe("an error has a line, a message and a remedy", () => {
  for (const [text, line, message, remedy] of WRONG) {
    test(JSON.stringify(text), () => {
      const read = readSettings(text, IDS);
      assert.ok(read.kind === "bad", "it was taken");
      const [fault] = read.faults;
      assert.equal(fault.line, line, JSON.stringify(read.faults));
      assert.match(fault.message, message);
      assert.match(fault.remedy, remedy);
    });
  }
});

test("all errors of a file are reported, up to a limit", () => {
  const read = readSettings(Array.from({ length: 100 }, (_, at) => `x${at}: 1\n`).join(""), IDS);
  assert.equal(read.kind === "bad" && read.faults.length, 20);
});

test("two actions may swap keys", () => {
  assert.deepEqual(
    [...good("keys: {suspend: u, lift: s}").keys.ownOf],
    [
      ["u", "s"],
      ["s", "u"],
    ],
  );
});

test("a style is parsed from words for attributes and colors", () => {
  assert.deepEqual(paintOf("none"), { attributes: [] });
  assert.deepEqual(paintOf(" Bold  RED on bright-white "), { foreground: 1, background: 15, attributes: ["bold"] });
  for (const wrong of ["red green", "on", "256", "#12345", "bold on"])
    assert.equal(typeof paintOf(wrong), "string", wrong);
});

test("a file with one theme is read as a theme", () => {
  const read = readTheme("base: mono\nfail: red\n");
  assert.deepEqual(read.kind === "good" && read.value.fail, { foreground: 1, attributes: [] });
  assert.equal(readTheme("fail: rot\n").kind, "bad");
});
