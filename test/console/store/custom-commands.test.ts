/** Rebound keys and custom commands: what runs, and that a row's value is always a single argument. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { drawScreen } from "../../../src/console/draw/draw-screen.ts";
import type { CustomCommand } from "../../../src/console/model/settings.ts";
import type { State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { readSettings } from "../../../src/console/settings/index.ts";
import { fillTemplate } from "../../../src/console/store/custom-commands.ts";
import { helpOf } from "../../../src/console/store/help.ts";
import { after, dataOf, key, ROWS, start, step, VIEWS } from "./fixture.ts";

const shell = (text: string): CustomCommand => ({
  key: "!",
  name: "n",
  views: undefined,
  run: { kind: "shell", text },
});
const commandOf = (...of: readonly string[]): CustomCommand => ({
  key: "!",
  name: "n",
  views: undefined,
  run: { kind: "argv", argv: of },
});

const HOSTILE = [
  "; touch /tmp/pwned",
  "$(echo injected)",
  "`echo injected`",
  "' ; echo injected ; '",
  '" ; echo injected ; "',
  "a\nb",
  "a b  c",
  "${IFS}x",
  "\\",
  "*",
  "é\u202e\u001b[2J",
  "'\"'\"'",
];

test("a value is one argument, whatever characters it has", () => {
  for (const name of HOSTILE)
    assert.deepEqual(fillTemplate(commandOf("prog", "--of={name}", "{name}"), { name }), {
      kind: "argv",
      argv: ["prog", `--of=${name}`, name],
    });
});

/** Returns the real shell's result. */
const filledScript = (text: string, name: string): string => {
  const filled = fillTemplate(shell(text), { name });
  assert.ok(filled.kind === "argv", JSON.stringify(filled));
  const [program = "", ...args] = filled.argv;
  return execFileSync(program, args, { encoding: "utf8", cwd: "/" });
};

test("a value is a shell parameter inside any quotes, and never part of the parsed command", () => {
  for (const name of HOSTILE) {
    assert.equal(filledScript("printf %s {name}", name), name);
    assert.equal(filledScript('printf %s "{name}"', name), name);
    assert.equal(filledScript("printf %s '{name}'", name), name);
    assert.equal(filledScript("printf %s 'a {name} b'\"c {name} d\"", name), `a ${name} bc ${name} d`);
    assert.doesNotMatch(filledScript('printf %s "$(printf %s "{name}")"', name), /^injected/);
  }
});

test("the text that a shell parses contains no value", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 20 }), fc.string({ maxLength: 30 }), (name, around) => {
      const value = `<<${name.replaceAll("\0", "")}>>`;
      const filled = fillTemplate(shell(`${around}{name}${around}`), { name: value });
      if (filled.kind === "refused") return;
      assert.ok(!(filled.argv[2] ?? "").includes(value));
      assert.deepEqual(filled.argv.slice(4), [value]);
    }),
  );
});

test("a value that would be an option is refused, unless options have ended", () => {
  assert.match(
    JSON.stringify(fillTemplate(commandOf("rm", "{name}"), { name: "-rf" })),
    /would be read as an option; write --/,
  );
  assert.match(JSON.stringify(fillTemplate(shell("rm {name}"), { name: "-rf" })), /write --/);
  assert.deepEqual(fillTemplate(commandOf("rm", "--", "{name}"), { name: "-rf" }), {
    kind: "argv",
    argv: ["rm", "--", "-rf"],
  });
});

test("a row over several nodes gives the values that all agree on", () => {
  const rows = [
    { name: "acme", node: "n1", state: "ok", members: [1], window: null },
    { name: "acme", node: "n2", state: "failing", members: [1], window: null },
  ];
  const cases = [
    ["{name}", { kind: "argv", argv: ["a", "acme"] }],
    ["{node}", /the nodes report different values of \{node\}/],
    ["{state}", /the nodes report different values of \{state\}/],
    ["{members}", /no value for \{members\}/],
    ["{window}", /no value for \{window\}/],
    ["{missing}", /no value for \{missing\}/],
  ] as const;
  for (const [word, expected] of cases) {
    const filled = fillTemplate(commandOf("a", word), rows);
    if (expected instanceof RegExp) assert.match(JSON.stringify(filled), expected);
    else assert.deepEqual(filled, expected);
  }
  assert.match(JSON.stringify(fillTemplate(commandOf("a", "{name}"), [])), /no row/);
});

test("a missing or non-scalar field is reported, and nothing runs", () => {
  assert.match(JSON.stringify(fillTemplate(commandOf("a", "{x}"), { y: 1 })), /no value for \{x\}/);
  assert.match(JSON.stringify(fillTemplate(commandOf("a", "{x}"), { x: ["y"] })), /no value/);
  assert.match(JSON.stringify(fillTemplate(commandOf("a", "{toString}"), {})), /argv/, "no field has such a name");
  assert.match(JSON.stringify(fillTemplate(commandOf("a", "{x}"), undefined)), /no row/);
  assert.match(JSON.stringify(fillTemplate(commandOf("a", "{x}"), { x: "a\0b" })), /cannot be an argument/);
});

const read = readSettings(
  "keys: {suspend: F, refresh: ctrl-t}\ncommands: [{key: ctrl-g, name: runbook, view: providers, run: 'open https://w/{name}'}]",
  ["providers"],
);
const settings = read.kind === "good" ? read.value : assert.fail(JSON.stringify(read));

function begun(more: Partial<Parameters<typeof start>[0]> = {}): State {
  const state = start({ keys: settings.keys, commands: settings.commands, place: { view: "providers" }, ...more });
  const online = { kind: "link", link: { ...state.link, state: { kind: "online" } } } as const;
  return after(state, [online, dataOf({ list_backends: ROWS })]);
}

test("a rebound action ignores its old key, and hints and help show the new one", () => {
  const state = begun();
  assert.equal(step(state, key("s")).state.dialog, undefined);
  assert.match(step(state, key("F")).state.dialog?.dialog.title ?? "", /Suspend/i);
  assert.deepEqual(
    step(state, key("ctrl-t")).effects.map(({ kind }) => kind),
    ["refresh", "redraw"],
  );
  assert.deepEqual(step(state, key("r")).effects, []);
  assert.deepEqual(step(state, key("f5")).effects, []);
  const screen = drawScreen({ ...state, size: { columns: 120, rows: 35 } }, VIEWS, () => [])
    .map(textOfLine)
    .join("\n");
  assert.match(screen, / F suspend/);
  const help = helpOf({ ...state, size: { columns: 120, rows: 200 } }, VIEWS)
    .lines.map(textOfLine)
    .join("\n");
  assert.match(help, /^[ >] F +/m);
  assert.match(help, /Your commands\n +Ctrl-G +runbook: open https:\/\/w\/\{name\}/);
});

test("in a prompt and in a dialog keys type text", () => {
  assert.equal(step(step(begun(), key("/")).state, key("F")).state.prompt?.edit.text, "F");
  assert.equal(step(step(begun(), key("F")).state, key("s")).effects.length, 0);
});

test("a command shows each argument, runs only on y, and not in read-only mode or in other views", () => {
  const asked = step(begun(), key("ctrl-g"));
  assert.deepEqual(asked.effects, []);
  const screen = drawScreen({ ...asked.state, size: { columns: 120, rows: 35 } }, VIEWS, () => [])
    .map(textOfLine)
    .join("\n");
  assert.match(screen, /Run locally: runbook[\s\S]*Program +open[\s\S]*https:\/\/w\/acme-chat/);
  assert.deepEqual(step(asked.state, key("enter")).effects, []);
  assert.deepEqual(step(asked.state, key("y")).effects, [
    {
      kind: "task",
      id: asked.state.dialog?.id,
      task: { kind: "job", job: { kind: "run_command", name: "runbook", argv: ["open", "https://w/acme-chat"] } },
    },
  ]);
  assert.equal(step(begun({ isReadOnly: true }), key("ctrl-g")).state.dialog, undefined);
  assert.equal(step(begun({ place: { view: "errors", subject: "x" } }), key("ctrl-g")).state.dialog, undefined);
});

test("a command runs without a gateway, and its output is a page", () => {
  const offline = after(begun(), [
    {
      kind: "link",
      link: {
        ...begun().link,
        state: {
          kind: "offline",
          since: 0,
          retryAt: 0,
          failure: { status: 0, code: "refused", message: "gone", at: 0 },
        },
      },
    },
  ]);
  assert.equal(step(step(offline, key("ctrl-g")).state, key("y")).effects.length, 1);
  const shown = step(offline, { kind: "output", title: "runbook: status 0", lines: [[{ text: "fine" }]] }).state;
  assert.equal(shown.page?.title, "runbook: status 0");
});
