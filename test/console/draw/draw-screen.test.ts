import assert from "node:assert/strict";
import { test } from "node:test";
import { viewsBar } from "../../../src/console/draw/views-bar.ts";
import { bodyRow } from "../../../src/console/format/box-frame.ts";
import type { Failure } from "../../../src/console/model/data.ts";
import type { Link, State } from "../../../src/console/model/state.ts";
import { type Line, textOfLine } from "../../../src/console/model/text.ts";
import type { View } from "../../../src/console/model/view.ts";
import { VIEWS as ALL_VIEWS } from "../../../src/console/views/all.ts";
import {
  dataOf,
  frameOf,
  HELP,
  NOW,
  opened,
  pictureOf,
  providersView,
  READINGS,
  REVOKE,
  SUSPEND,
  stateAt,
  VIEWS,
  withTable,
} from "./fixture.ts";
import { matchesGolden } from "./golden.ts";

const titleOf = (state: State, views = VIEWS): string => textOfLine(frameOf(state, views)[2] ?? []);

const SIZES = ["120x35", "80x24", "60x16"] as const;

const failure = (status: number, code: string, message: string): Failure => ({ status, code, message, at: NOW });
const REFUSED = failure(403, "forbidden", "denied by rule operators");
const BROKEN = failure(503, "busy", "the node sheds load\nsecond line");
const UNREACHABLE = failure(0, "unreachable", "connect ENOENT /run/gateway.sock");

const withBackends = (change: object): Pick<State, "data"> => ({
  data: dataOf({ ...READINGS, list_backends: { ...READINGS.list_backends, ...change } }),
});

const LEADERLESS: Pick<State, "data"> = {
  data: dataOf({ ...READINGS, get_status: { value: { ...READINGS.get_status.value, leader: null } } }),
};

const linkOf = (state: Link["state"]): Pick<State, "link"> => ({
  link: { ...stateAt("80x24").link, endpoints: 2, state },
});
const OFFLINE = linkOf({ kind: "offline", since: NOW - 72_000, retryAt: NOW + 4_000, failure: UNREACHABLE });

interface DrawnCase {
  readonly change: Partial<State>;
  readonly views?: readonly View[];
}

const MANY = Array.from({ length: 10_000 }, (_, at) => ({
  name: `key-${String(at).padStart(5, "0")}`,
  state: "ok",
  rate: at / 10,
  units: at * 1_000,
}));

const withGaps = (unanswered: readonly string[], cut: readonly string[] = []): Partial<State> =>
  withBackends({ gaps: { unanswered, cut } });

const SCENES: Readonly<Record<string, DrawnCase>> = {
  ok: { change: withTable({ cursorId: "acme-alt", marks: new Set(["acme-alt", "beta-labs"]) }) },
  loading: { change: withBackends({ value: undefined }) },
  empty: { change: {}, views: [providersView([]), ...VIEWS.slice(1)] },
  filtered_out: { change: withTable({ filter: "/foo/" }) },
  filtered: { change: withTable({ filter: "!acme" }) },
  forbidden: { change: withBackends({ failure: REFUSED }) },
  failed: { change: withBackends({ value: undefined, failure: BROKEN }) },
  failed_with_data: { change: withBackends({ failure: BROKEN, freshAt: NOW - 42_000 }) },
  offline: { change: OFFLINE },
  offline_without_data: { change: { ...OFFLINE, data: dataOf({}) } },
  signed_out: {
    change: {
      ...linkOf({ kind: "signed_out", failure: failure(401, "unauthenticated", "the token has expired") }),
      ...withBackends({ value: undefined }),
    },
  },
  many: {
    change: withTable({ cursorId: "key-00020", cursorAt: 20, offset: 11 }),
    views: [providersView(MANY), ...VIEWS.slice(1)],
  },
  wide: { change: withTable({ isWide: true, scrolled: 2 }) },
  help: { change: HELP },
  prompt: { change: { prompt: { kind: "command", label: ":", edit: { text: "prov /acme", at: 4 }, before: "" } } },
  sorting: { change: { awaitsColumnFor: "sort" } },
  flash: { change: { flash: { message: "suspended for 30m, revision 88413", tone: "plain", at: NOW } } },
  page: {
    change: {
      page: {
        id: 1,
        title: "acme-chat",
        lines: Array.from({ length: 80 }, (_, at) => [{ text: `field_${at}  value` }]),
        offset: 11,
        filter: "",
      },
    },
  },
  page_loading: { change: { page: { id: 1, title: "acme-chat", lines: undefined, offset: 0, filter: "" } } },
  page_view: { change: { place: { view: "guide" } } },
  workbench: { change: { place: { view: "query" } } },
  read_only: { change: { isReadOnly: true } },
  dialog: { change: { dialog: opened(SUSPEND) } },
  dialog_field: { change: { dialog: opened(SUSPEND, { focus: 0, edit: { text: "console: incident", at: 7 } }) } },
  dialog_why: { change: { dialog: opened({ ...SUSPEND, blockedReason: () => "gpt-* would have no provider left" }) } },
  dialog_running: {
    change: { dialog: opened(SUSPEND, { stage: { kind: "running", message: "suspend now", since: NOW } }) },
  },
  dialog_leaderless: {
    change: {
      now: NOW + 1_400,
      ...LEADERLESS,
      dialog: opened(SUSPEND, { stage: { kind: "running", message: "suspend now", since: NOW } }),
    },
  },
  dialog_failed: {
    change: { dialog: opened(SUSPEND, { stage: { kind: "failed", message: "503 no_leader: no leader is known" } }) },
  },
  dialog_done: {
    change: {
      dialog: opened(SUSPEND, {
        stage: {
          kind: "done",
          message: "minted prod-search",
          secret: "gwk_a1b2c3d4_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJK012345",
        },
      }),
    },
  },
  dialog_typed: { change: { dialog: opened(REVOKE, { typed: { text: "prod-sea", at: 8 } }) } },
};

for (const [name, { change, views }] of Object.entries(SCENES)) {
  for (const size of SIZES) {
    test(`${name} at ${size} is drawn as before`, () => {
      matchesGolden(`${name}-${size}`, pictureOf(frameOf(stateAt(size, change), views)));
    });
  }
}

test("an ASCII terminal gets only ASCII, in the same cells", () => {
  const [plain, drawn] = [stateAt("120x35", { isAscii: true }), stateAt("120x35")].map((state) =>
    frameOf(state).map(textOfLine),
  );
  matchesGolden("ascii-120x35", (plain ?? []).map((line) => line.trimEnd()).join("\n"));
  assert.match((drawn ?? []).join(""), /│/);
  assert.doesNotMatch((plain ?? []).join(""), /[^\x20-\x7e]/);
});

test("a screen that is too small says so and keeps the health line", () => {
  matchesGolden("too_small-59x15", pictureOf(frameOf(stateAt("59x15"))));
});

const spansOf = (lines: readonly Line[]) => lines.flat();
const has = (lines: readonly Line[], text: string): Line | undefined =>
  lines.find((line) => textOfLine(line).includes(text));

test("the row under the cursor is in inverse and has its mark", () => {
  const row = has(frameOf(stateAt("80x24")), "FAILING");
  assert.match(textOfLine(row ?? []), /^│>acme-chat/);
  assert.ok((row ?? []).slice(1, -1).every(({ isInverse }) => isInverse === true));
});

test("old data stays on the screen and is dimmed", () => {
  const row = has(frameOf(stateAt("80x24", OFFLINE)), "FAILING") ?? [];
  const text = row.filter(({ text }) => text.trim() !== "" && text !== "│" && text !== ">");
  assert.ok(text.length >= 3);
  assert.ok(text.every(({ tone }) => tone === "dim"));
});

test("cells are built only for visible rows", () => {
  const view = providersView(MANY);
  assert.ok(view.body.kind === "table");
  const { body } = view;
  const shownRows = new Set<number>();
  const counting: View = {
    ...view,
    body: {
      ...body,
      table: (context) => {
        const table = body.table(context);
        return {
          ...table,
          cell(at, column, now) {
            shownRows.add(at);
            return table.cell(at, column, now);
          },
        };
      },
    },
  };
  frameOf(stateAt("120x35", withTable({ offset: 40 })), [counting]);
  assert.ok(shownRows.size > 0 && shownRows.size <= 35);
});

test("lists without permission are missing from the health line", () => {
  const hidden = frameOf(stateAt("120x35", withBackends({ failure: REFUSED })));
  assert.doesNotMatch(textOfLine(hidden[1] ?? []), /providers/);
  assert.match(textOfLine(frameOf(stateAt("120x35"))[1] ?? []), /providers 2 ok 1 FAIL 1 SUSP/);
});

test("a dangerous dialog is red, with an inverted button once it can be confirmed", () => {
  const expected = "prod-search-with-a-long-name-that-is-not-shortened";
  const drawn = (text: string) =>
    frameOf(stateAt("80x24", { dialog: opened(REVOKE, { typed: { text, at: text.length } }) }));
  const button = (lines: readonly Line[]) =>
    spansOf(lines).find(({ text }) => text.includes("revoke for good") && text.includes("Enter"));
  assert.deepEqual([button(drawn(expected))?.isInverse, button(drawn(expected))?.tone], [true, "fail"]);
  assert.notEqual(button(drawn("prod"))?.isInverse, true);
  assert.equal(spansOf(drawn("")).find(({ text }) => text.startsWith("Revoke the key"))?.tone, "fail");
});

test("a dialog that is higher than the screen keeps its confirmation and the field with the focus", () => {
  const lines = Array.from({ length: 40 }, (_, at) => [`line ${at}`, [{ text: "words" }]] as const);
  const drawn = pictureOf(
    frameOf(stateAt("60x16", { dialog: opened({ ...SUSPEND, lines: () => lines }, { focus: 1 }) })),
  );
  assert.match(drawn, /Enter, then y {2}suspend now/);
  assert.match(drawn, /<30m>/);
  assert.match(drawn, /lines above/);
});

test("a text shown once is complete even on the smallest screen", () => {
  const secret = `gwk_a1b2c3d4_${"s".repeat(43)}012345`;
  const drawn = pictureOf(
    frameOf(stateAt("60x16", { dialog: opened(SUSPEND, { stage: { kind: "done", message: "minted", secret } }) })),
  );
  assert.ok(drawn.replace(/[\s│]/g, "").includes(secret));
  assert.match(drawn, /shown only once: copy it now \(c\)/);
});

test("hints are the available actions; the help says why others are not", () => {
  const [hints = []] = frameOf(stateAt("120x35")).slice(-2);
  assert.match(textOfLine(hints), /s suspend/);
  assert.doesNotMatch(textOfLine(hints), /lift/);
  assert.match(pictureOf(frameOf(stateAt("80x24", HELP))), /unavailable: acme-chat\s+/);
});

test("in read-only mode no verb that changes the gateway is offered", () => {
  const drawn =
    pictureOf(frameOf(stateAt("120x35", { isReadOnly: true }))) +
    pictureOf(frameOf(stateAt("120x35", { isReadOnly: true, ...HELP })));
  assert.doesNotMatch(drawn, /s suspend|suspend the provider, key or other object of the row/);
  assert.match(drawn, /e errors/);
});

test("the title names nodes without an answer at any width", () => {
  for (const size of SIZES) {
    const warning = /─ n3 HAS NOT ANSWERED ─/;
    assert.match(titleOf(stateAt(size, withGaps(["n3"]))), warning);
    assert.match(titleOf(stateAt(size, withGaps(["n3"])), [providersView([]), ...VIEWS.slice(1)]), warning);
    assert.doesNotMatch(titleOf(stateAt(size)), /ANSWERED/);
  }
  const wide = (...gaps: Parameters<typeof withGaps>): string => titleOf(stateAt("120x35", withGaps(...gaps)));
  assert.match(wide(["n2", "n3"], ["n1"]), /n2, n3 HAVE NOT ANSWERED, MORE ON n1 ─/);
  assert.match(wide(["n1", "n2", "n3", "n4", "n5"]), /n1, n2, n3 and 2 more HAVE NOT ANSWERED ─/);
  const long = titleOf(stateAt("60x16", withGaps(["n".repeat(128)])));
  assert.match(long, /^┌─ Prov.* n{20}/);
});

test("nodes missing from several reads of a view are named once", () => {
  const data = dataOf({
    list_audit_records: { value: [], gaps: { unanswered: ["n3"], cut: [] } },
    list_refusals: { value: [], gaps: { unanswered: ["n2", "n3"], cut: [] } },
  });
  const [view] = VIEWS;
  assert.ok(view !== undefined);
  const both: View = { ...view, needs: () => [{ id: "list_audit_records" }, { id: "list_refusals" }] };
  assert.match(titleOf(stateAt("120x35", { data }), [both, ...VIEWS.slice(1)]), /n2, n3 HAVE NOT ANSWERED/);
});

test("a bar in the selected row is not inverted", () => {
  const row = bodyRow([{ text: "team ███░░ 60 %", tone: "warn" }], 30, { before: ">", isInverse: true });
  const upright = row.filter(({ isInverse }) => isInverse !== true).map(({ text }) => text);
  assert.deepEqual(upright, ["│", "███░░", "│"]);
  assert.equal(textOfLine(row), "│>team ███░░ 60 %            │");
});

test("the lower border has the views of the digit keys, the current one inverted, at any width", () => {
  const footOf = (state: State): Line => frameOf(state).at(-3) ?? [];
  const wide = footOf(stateAt("120x35"));
  assert.match(textOfLine(wide), /^└─ 2 providers {2}9 query ─+/);
  assert.deepEqual(
    wide.filter(({ isInverse }) => isInverse === true).map(({ text }) => text),
    ["2", " providers"],
  );
  const bars = [120, 80, 60].map((columns) =>
    textOfLine(viewsBar({ ...stateAt("120x35"), place: { view: "overview" } }, ALL_VIEWS, columns - 6)),
  );
  assert.deepEqual(bars, [
    "1 overview  2 providers  3 keys  4 budgets  5 reconcile  6 mcp  7 config  8 audit  9 query",
    "1 overview 2 providers 3 keys 4 budgets 5 reconcile 6 mcp 7 config 8 9",
    "1 overview 2 providers 3 keys 4 budgets 5 6 7 8 9",
  ]);
  const ofQuery = { ...stateAt("120x35"), place: { view: "query" } };
  const result = { ...ofQuery, workbench: { ...ofQuery.workbench, isEditing: false } };
  assert.match(textOfLine(viewsBar(result, ALL_VIEWS, 54)), / 9 query$/, "the view on the screen keeps its name");
  const typing = stateAt("120x35", { place: { view: "query" } });
  assert.doesNotMatch(textOfLine(footOf(typing)), /2 providers/, "digits are typed there");
  assert.doesNotMatch(textOfLine(footOf(stateAt("120x35", { dialog: opened(SUSPEND) }))), /2 providers/);
});
