import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cellsOf } from "../../../src/base/index.ts";
import { drawScreen } from "../../../src/console/draw/draw-screen.ts";
import { renderTree } from "../../../src/console/draw/screen-reader.ts";
import type { Failure } from "../../../src/console/model/data.ts";
import type { DialogState, State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { drawWorkbench } from "../../../src/console/workbench/draw-workbench.ts";
import { HARD_TEXT, LINES } from "./arbitrary.ts";
import {
  dataOf,
  NOW,
  opened,
  PAGE_VIEW,
  providersView,
  READINGS,
  REVOKE,
  type Row,
  SUSPEND,
  stateAt,
  TABLE,
  WORKBENCH_VIEW,
} from "./fixture.ts";

const failure: fc.Arbitrary<Failure> = fc.record({
  status: fc.constantFrom(0, 403, 500, 503),
  code: fc.constant("internal"),
  message: HARD_TEXT,
  at: fc.constant(NOW),
});

const rows: fc.Arbitrary<readonly Row[]> = fc.uniqueArray(
  fc.record({
    name: HARD_TEXT,
    state: fc.constantFrom("ok", "failing", "suspended"),
    rate: fc.float({ min: 0, max: 1e6, noNaN: true }),
    units: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  }),
  { selector: ({ name }) => name, maxLength: 60 },
);

const edit = HARD_TEXT.chain((text) => {
  const places = [0, ...[...text].map((_, at) => [...text].slice(0, at + 1).join("").length)];
  return fc.constantFrom(...places).map((at) => ({ text, at }));
});

const stage: fc.Arbitrary<DialogState["stage"]> = fc.oneof(
  fc.constant({ kind: "asking" as const }),
  HARD_TEXT.map((message) => ({ kind: "running" as const, message, since: 0 })),
  HARD_TEXT.map((message) => ({ kind: "failed" as const, message })),
  fc.record({ kind: fc.constant("done" as const), message: HARD_TEXT, secret: HARD_TEXT }),
);

const dialog: fc.Arbitrary<DialogState> = fc
  .record({
    isTyped: fc.boolean(),
    focus: fc.integer({ min: -1, max: 3 }),
    stage,
    edit,
    typed: edit,
    reason: HARD_TEXT,
  })
  .map(({ isTyped, focus, reason, ...rest }) => {
    const asked = isTyped ? REVOKE : SUSPEND;
    const dialogState = opened(asked, { ...rest, focus: Math.min(focus, asked.fields.length) });
    return { ...dialogState, values: { ...dialogState.values, reason } };
  });

const table = fc
  .record({
    cursorAt: fc.integer({ min: 0, max: 50 }),
    offset: fc.integer({ min: 0, max: 60 }),
    filter: fc.oneof(fc.constant(""), HARD_TEXT, fc.constant("/(/")),
    isWide: fc.boolean(),
    scrolled: fc.integer({ min: 0, max: 9 }),
    isNarrowed: fc.boolean(),
    marks: fc.constant(new Set(["name"])),
  })
  .map((some) => ({ ...TABLE, ...some, cursorId: "none" }));

const drawnState = fc.record({
  columns: fc.integer({ min: 40, max: 200 }),
  rows: fc.integer({ min: 10, max: 60 }),
  providers: rows,
  place: fc.constantFrom("providers", "guide", "query"),
  table,
  failure: fc.option(failure, { nil: undefined }),
  hasData: fc.boolean(),
  isOffline: fc.boolean(),
  page: fc.option(fc.array(LINES, { maxLength: 80 }), { nil: undefined }),
  awaitsColumnFor: fc.constantFrom("sort", "copy", undefined),
  dialog: fc.option(dialog, { nil: undefined }),
  prompt: fc.option(fc.record({ label: HARD_TEXT, edit, kind: fc.constantFrom("command", "filter", "ask", "help") }), {
    nil: undefined,
  }),
  flash: fc.option(HARD_TEXT, { nil: undefined }),
  isAscii: fc.boolean(),
});

const SIZE = { numRuns: 300 };

test("for any state and size, a frame has one line less than the screen and none wider", () => {
  fc.assert(
    fc.property(drawnState, (input) => {
      const state = stateOf(input);
      const views = [providersView(input.providers), PAGE_VIEW, WORKBENCH_VIEW];
      const lines = drawScreen(state, views, drawWorkbench);
      assert.equal(lines.length, input.rows - 1);
      for (const line of lines) {
        const text = textOfLine(line);
        assert.ok(cellsOf(text) <= input.columns, JSON.stringify(text));
        assert.doesNotMatch(text, input.isAscii ? /[^\x20-\x7e]/ : /[\x00-\x1f\x7f-\x9f\u202e]/);
      }
      assert.ok(renderTree(state, views, drawWorkbench).length > 0);
    }),
    SIZE,
  );
});

function stateOf(input: typeof drawnState extends fc.Arbitrary<infer T> ? T : never): State {
  const state = stateAt(`${input.columns}x${input.rows}`);
  const reading = { ...READINGS.list_backends, failure: input.failure };
  const offline = {
    kind: "offline" as const,
    since: NOW - 9_000,
    retryAt: NOW + 4_000,
    failure: input.failure ?? { status: 0, code: "unreachable", message: "no", at: NOW },
  };
  return {
    ...state,
    isAscii: input.isAscii,
    place: { view: input.place },
    data: dataOf({ ...READINGS, list_backends: input.hasData ? reading : { ...reading, value: undefined } }),
    tables: new Map([[input.place, input.table]]),
    page: input.page === undefined ? undefined : { id: 1, title: "a page", lines: input.page, offset: 0, filter: "" },
    awaitsColumnFor: input.awaitsColumnFor,
    dialog: input.dialog,
    prompt: input.prompt === undefined ? undefined : { ...input.prompt, before: "" },
    flash: input.flash === undefined ? undefined : { message: input.flash, tone: "warn", at: NOW },
    ...(input.isOffline && { link: { ...state.link, endpoints: 2, state: offline } }),
  };
}
