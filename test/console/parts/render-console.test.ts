import "./production.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Line, Tone } from "../../../src/console/model/text.ts";
import type { RenderOptions } from "../../../src/console/parts/render-console.tsx";
import { createTestStore, OPEN_GATE, settled, type TestScreenStore } from "./screen-store.ts";
import { createTerminal, type TestTerminal } from "./terminal.ts";

const { renderConsole } = await import("../../../src/console/parts/render-console.tsx");
const { DEFAULT_THEME, MONO } = await import("../../../src/console/parts/theme.ts");

const CLEARS = /\x1b\[[23]J/;

interface Shown {
  readonly terminal: TestTerminal;
  readonly store: TestScreenStore;
  readonly screen: ReturnType<typeof renderConsole>;
  readonly crashes: unknown[];
}

function show(columns: number, rows: number, change: Partial<RenderOptions> = {}): Shown {
  const terminal = createTerminal(columns, rows);
  const store = createTestStore(columns, rows);
  const crashes: unknown[] = [];
  const screen = renderConsole({
    stdout: terminal,
    store: store,
    theme: DEFAULT_THEME,
    isScreenReader: false,
    gate: OPEN_GATE,
    onCrash: (error) => crashes.push(error),
    ...change,
  });
  return { terminal, store, screen, crashes };
}

const numbered = (word: string, count: number): readonly Line[] =>
  Array.from({ length: count }, (_, at) => [{ text: `${word} ${at}` }]);
const textOf = (word: string, count: number): readonly string[] => [
  ...numbered(word, count).map(([span]) => span?.text ?? ""),
  "",
];

test("the first frame fills all lines but the last and clears none of the earlier text", async () => {
  const { terminal, screen } = show(80, 24);
  assert.deepEqual(await terminal.screen(), textOf("line", 23));
  assert.doesNotMatch(terminal.written.join(""), CLEARS);
  screen.unmount();
});

test("only the changed lines of a frame are written", async () => {
  const { terminal, store, screen } = show(80, 24);
  await settled();
  terminal.forget();
  store.set(
    store.getLines().map((line, at) => (at === 3 ? [{ text: "changed", tone: "fail", isInverse: true }] : line)),
  );
  await settled();
  const written = terminal.written.join("");
  assert.match(written, /\x1b\[7m\x1b\[31mchanged/);
  assert.doesNotMatch(written, /line \d/);
  const lines = textOf("line", 23).with(3, "changed");
  assert.deepEqual(await terminal.screen(), lines);
  screen.unmount();
});

test("a line is never erased behind its last cell, which might be lost", async () => {
  const { terminal, store, screen } = show(40, 10);
  await settled();
  terminal.forget();
  store.set(store.getLines().map((line, at) => (at === 3 ? [{ text: "x".repeat(40) }] : line)));
  await settled();
  assert.match(terminal.written.join(""), /x{40}\n/);
  assert.doesNotMatch(terminal.written.join(""), /x\x1b\[K/);
  assert.equal((await terminal.screen())[3], "x".repeat(40));
  screen.unmount();
});

test("an unchanged frame writes nothing", async () => {
  const { terminal, store, screen } = show(80, 24);
  await settled();
  terminal.forget();
  store.set(numbered("line", 23));
  await settled();
  assert.equal(terminal.written.join(""), "");
  screen.unmount();
});

test("after each resize the screen has only the new frame, without a full clear", async () => {
  const { terminal, store, screen } = show(120, 35);
  for (const [columns, rows] of [
    [60, 16],
    [120, 35],
    [80, 24],
    [200, 60],
    [40, 10],
  ] as const) {
    terminal.resize(columns, rows);
    store.set(numbered(`at ${columns}:`, rows - 1), { columns, rows });
    await settled();
    assert.deepEqual(await terminal.screen(), textOf(`at ${columns}:`, rows - 1));
  }
  assert.doesNotMatch(terminal.written.join(""), CLEARS);
  screen.unmount();
});

test("a line of wide characters that fills the width does not move the lines below it", async () => {
  const { terminal, store, screen } = show(40, 10);
  const wide = "漢".repeat(20);
  store.set([[{ text: wide, isInverse: true }], ...numbered("below", 8)]);
  await settled();
  assert.deepEqual(await terminal.screen(), [wide, ...textOf("below", 8)]);
  screen.unmount();
});

test("the only line of a one-line terminal stays on it", async () => {
  const { terminal, store, screen } = show(20, 1);
  store.set([[{ text: "need 60x16, have 20…" }]], { columns: 20, rows: 1 });
  await settled();
  assert.deepEqual(await terminal.screen(), ["need 60x16, have 20…"]);
  store.set([[{ text: "need more" }]]);
  await settled();
  assert.deepEqual(await terminal.screen(), ["need more"]);
  screen.unmount();
});

test("a redraw paints over the output of other programs", async () => {
  const { terminal, screen } = show(80, 24);
  await settled();
  terminal.write("\x1b[5;5Hsomething else\n\n\n");
  terminal.forget();
  screen.redraw();
  assert.deepEqual(await terminal.screen(), textOf("line", 23));
  assert.doesNotMatch(terminal.written.join(""), CLEARS);
  screen.unmount();
});

test("after many redraws no line is drawn twice and the cursor stays hidden", async () => {
  const { terminal, store, screen } = show(80, 24);
  for (let at = 0; at < 20; at += 1) {
    screen.redraw();
    store.set(numbered(`turn ${at}:`, 23));
  }
  await settled();
  assert.deepEqual(await terminal.screen(), textOf("turn 19:", 23));
  assert.doesNotMatch(terminal.written.join(""), /\x1b\[\?25h/);
  screen.unmount();
  await settled();
  assert.doesNotMatch(terminal.written.join(""), /\x1b\[\?25h/);
});

test("while the terminal is busy frames are dropped, and then the newest is drawn", async () => {
  let isBusy = true;
  let drain = () => {};
  const drained = new Promise<void>((resolve) => {
    drain = resolve;
  });
  const { terminal, store, screen } = show(80, 24, {
    gate: { ...OPEN_GATE, isBusy: () => isBusy, whenDrained: () => drained },
  });
  await settled();
  terminal.forget();
  for (let at = 0; at < 50; at += 1) store.set(numbered(`state ${at}:`, 23));
  await settled();
  assert.equal(terminal.written.join(""), "");
  isBusy = false;
  drain();
  await settled();
  assert.deepEqual(await terminal.screen(), textOf("state 49:", 23));
  assert.doesNotMatch(terminal.written.join(""), /state 48/);
  screen.unmount();
});

test("an error while a frame is made is reported once, and nothing is printed", async () => {
  const { terminal, store, crashes } = show(80, 24);
  await settled();
  terminal.forget();
  store.fail(new Error("no frame"));
  store.fail(new Error("again"));
  await settled();
  assert.deepEqual(crashes.map(String), ["Error: no frame"]);
  assert.equal(terminal.written.join(""), "");
});

test("an error in a component is reported once, and neither Ink nor React prints it", async () => {
  const { terminal, store, crashes } = show(80, 24);
  await settled();
  terminal.forget();
  const broken: Line = [
    {
      text: "broken",
      get tone(): Tone {
        throw new Error("a broken line");
      },
    },
  ];
  store.set([broken, ...numbered("line", 22)]);
  await settled();
  assert.deepEqual(crashes.map(String), ["Error: a broken line"]);
  assert.equal(terminal.written.join(""), "");
});

test("text printed through console goes to the listener until the screen is restored", async () => {
  const printed: string[] = [];
  const { terminal, screen } = show(80, 24, { onPrinted: (text) => printed.push(text) });
  const { log } = console;
  await settled();
  terminal.forget();
  console.warn("a warning about %s", "something");
  assert.deepEqual(printed, ["a warning about something"]);
  assert.equal(terminal.written.join(""), "");
  screen.unmount();
  assert.notEqual(console.log, log);
});

test("after unmounting nothing is written", async () => {
  const { terminal, store, screen } = show(80, 24);
  await settled();
  terminal.forget();
  screen.unmount();
  store.set(numbered("late", 23));
  screen.redraw();
  await settled();
  assert.equal(terminal.written.join(""), "");
});

test("without colors no SGR color is written, and urgent text is bold", async () => {
  const tones = ["plain", "strong", "dim", "warn", "fail", "off", "changed"] as const;
  const { terminal, store, screen } = show(80, 24, { theme: MONO });
  store.set([tones.map((tone) => ({ text: tone, tone, isInverse: tone === "off" })), ...numbered("line", 22)]);
  await settled();
  const written = terminal.written.join("");
  assert.doesNotMatch(written, /\x1b\[[\d;]*(?:3\d|4\d|9\d|10\d)[\d;]*m/);
  assert.match(written, /\x1b\[1mfail|\x1b\[1m[a-z]*fail/);
  screen.unmount();
});

test("a screen reader gets lines with roles and states instead of a frame", async () => {
  const { terminal, store, screen } = show(80, 24, { isScreenReader: true });
  store.say([
    { text: "Providers" },
    {
      role: "table",
      text: "",
      children: [{ role: "listitem", text: "NAME: acme-chat, STATE: FAILING", state: { selected: true } }],
    },
    { role: "button", text: "y suspend now", state: { disabled: true } },
  ]);
  await settled();
  const lines = (await terminal.screen()).filter((line) => line !== "");
  assert.deepEqual(lines, [
    "Providers",
    "table: listitem: (selected) NAME: acme-chat, STATE: FAILING",
    "button: (disabled) y suspend now",
  ]);
  terminal.forget();
  store.say([{ text: "Keys" }]);
  await settled();
  assert.deepEqual(
    (await terminal.screen()).filter((line) => line !== ""),
    ["Keys"],
  );
  assert.doesNotMatch(terminal.written.join(""), CLEARS);
  screen.unmount();
});
