/** The query view's text about readable tables, from the request to the answer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { QueryTables } from "../../../src/admin-api/index.ts";
import { drawScreen } from "../../../src/console/draw/draw-screen.ts";
import type { Event, State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { initialState } from "../../../src/console/store/initial-state.ts";
import { createStep } from "../../../src/console/store/reducer.ts";
import { VIEWS } from "../../../src/console/views/all.ts";
import { drawWorkbench } from "../../../src/console/workbench/draw-workbench.ts";
import { stepWorkbench } from "../../../src/console/workbench/step-workbench.ts";
import { TABLES } from "../workbench/support.ts";
import { dataOf, NOW } from "./keys-fixture.ts";

const step = createStep({ views: VIEWS, stepWorkbench });
const endpoint = { endpoint: { kind: "socket", path: "/a" }, name: "unix:/a", flags: "-socket /a" } as const;

const OPENED: State = {
  ...initialState({
    size: { columns: 80, rows: 24 },
    now: NOW,
    place: { view: "query" },
    endpoint,
    endpoints: 1,
    isReadOnly: false,
    isAscii: false,
    hasMetrics: false,
    hasTail: false,
  }),
  link: { endpoint, endpoints: 1, state: { kind: "online" } },
};

const answered = (items: QueryTables["items"]): Event => ({
  kind: "data",
  now: NOW,
  data: dataOf({ list_query_tables: items }),
});

const shown = (state: State): string => drawScreen(state, VIEWS, drawWorkbench).map(textOfLine).join("\n");

test("the view is loading while the tables are read, and without any it says that none may be read", () => {
  const loading = shown(OPENED);
  assert.match(loading, /Query workbench {2}\[9\] {3}loading/);
  assert.doesNotMatch(loading, /table/);
  const none = shown(step(OPENED, answered([])).state);
  assert.match(none, /Your policy lets you read none of the tables/);
  assert.doesNotMatch(none, /loading|not known|For example/);
  assert.match(shown(step(OPENED, answered(TABLES)).state), /you may read 4 tables: {2}backends/);
});
