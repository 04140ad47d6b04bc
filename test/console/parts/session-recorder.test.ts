/** A recording is played back on a terminal and shows the screen without private parts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import xterm from "@xterm/headless";
import { drawScreen } from "../../../src/console/draw/draw-screen.ts";
import type { State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { createRecorder, type RecordFile } from "../../../src/console/parts/session-recorder.ts";
import { DEFAULT_THEME } from "../../../src/console/parts/theme.ts";
import { maskState } from "../../../src/console/store/mask-state.ts";
import { after, dataOf, key, mintDialog, ROWS, start, step, VIEWS } from "../store/fixture.ts";

const NOW = 1_764_000_000_000;
const SECRET = "gwk_0123456789abcdefghij";

function fileOf(): RecordFile & { text: string } {
  return {
    beganAt: NOW,
    text: "",
    get length() {
      return this.text.length;
    },
    append(text) {
      this.text += text;
    },
  };
}

const drawn = (state: State) => drawScreen(state, VIEWS, () => []);

async function played(cast: string): Promise<readonly string[]> {
  const [head = "", ...events] = cast.trimEnd().split("\n");
  const { version, width, height } = JSON.parse(head);
  assert.equal(version, 2);
  const terminal = new xterm.Terminal({ cols: width, rows: height, allowProposedApi: true });
  let before = 0;
  for (const line of events) {
    const [at, code, data] = JSON.parse(line);
    assert.ok(at >= before, "time goes on");
    before = at;
    if (code === "r") terminal.resize(...(data.split("x").map(Number) as [number, number]));
    else await new Promise<void>((done) => terminal.write(data, done));
  }
  const { active } = terminal.buffer;
  return Array.from(
    { length: terminal.rows },
    (_, row) =>
      active
        .getLine(active.baseY + row)
        ?.translateToString(true)
        .trimEnd() ?? "",
  );
}

const begun = (): State => after(start({ place: { view: "providers" } }), [dataOf({ list_backends: ROWS })]);

test("a playback ends with the last frame, across resizes, and unchanged frames cost nothing", async () => {
  const file = fileOf();
  let now = NOW;
  const recorder = createRecorder({ file, now: () => now, theme: DEFAULT_THEME, onEnd: assert.fail });
  let state = begun();
  for (const chord of ["down", "down", "/", "a", "enter", "?"]) {
    now += 400;
    state = step(state, key(chord)).state;
    recorder.frame(drawn(maskState(state)), state.size);
  }
  const { length } = file;
  recorder.frame(drawn(maskState(state)), state.size);
  assert.equal(file.length, length);
  state = { ...state, prompt: undefined, size: { columns: 100, rows: 30 } };
  recorder.frame(drawn(maskState(state)), state.size);
  const expected = drawn(state).map((line) => textOfLine(line).trimEnd());
  assert.deepEqual((await played(file.text)).slice(0, expected.length), expected);
});

test("text shown once, typed or pasted is not recorded, in any part of the screen", () => {
  const file = fileOf();
  const recorder = createRecorder({ file, now: () => NOW, theme: DEFAULT_THEME, onEnd: assert.fail });
  const stage = { kind: "done", message: "minted", secret: SECRET } as const;
  const dialog = { id: 1, dialog: mintDialog, values: { name: SECRET }, focus: -1, stage } as const;
  const empty = { text: "", at: 0 };
  const shown: State = { ...begun(), dialog: { ...dialog, typed: empty, edit: empty } };
  const typed: State = {
    ...begun(),
    dialog: { ...dialog, typed: empty, edit: { text: SECRET, at: 5 }, focus: 0, stage: { kind: "asking" } },
  };
  let prompt = step(begun(), key("/")).state;
  prompt = step(prompt, { kind: "paste", text: `Bearer ${SECRET}` }).state;
  for (let at = 0; at < 12; at += 1) {
    prompt = step(prompt, key("left")).state;
    recorder.frame(drawn(maskState(prompt)), prompt.size);
  }
  for (const state of [shown, typed]) {
    recorder.frame(drawn(maskState(state)), state.size);
  }
  for (let from = 4; from + 6 <= SECRET.length; from += 1)
    assert.ok(!file.text.includes(SECRET.slice(from, from + 6)), SECRET.slice(from, from + 6));
});

test("a recording ends at its limit or on a full disk with one message, and can be played", async () => {
  const file = fileOf();
  const messages: string[] = [];
  const recorder = createRecorder({
    ...{ file, now: () => NOW, theme: DEFAULT_THEME, maxLength: 20_000 },
    onEnd: (reason) => messages.push(reason),
  });
  let state = begun();
  for (let at = 0; at < 200; at += 1) {
    state = step(state, key(at % 2 === 0 ? "?" : "esc")).state;
    recorder.frame(drawn(maskState(state)), state.size);
  }
  assert.deepEqual(messages, ["recording stopped: the file has reached its maximum size"]);
  assert.ok(file.length <= 20_000);
  assert.ok((await played(file.text)).join("").length > 0);
});
