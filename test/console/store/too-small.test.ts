import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../../src/console/model/state.ts";
import { after, dataOf, key, ROWS, start, step } from "./fixture.ts";

const size = (columns: number, rows: number): Event => ({ kind: "size", columns, rows });

test("on a screen too small for a dialog none is opened and none confirmed", () => {
  const endpoint = start().link.endpoint;
  const online: Event = { kind: "link", link: { endpoint, endpoints: 1, state: { kind: "online" } } };
  const ready = after(start(), [online, dataOf({ list_backends: ROWS }), key("2")]);

  const small = step(after(ready, [size(57, 11)]), key("s")).state;
  assert.equal(small.dialog, undefined);
  assert.match(small.flash?.message ?? "", /too small to show/);

  const shrunk = step(after(ready, [key("s"), key("enter"), size(57, 11)]), key("y"));
  assert.deepEqual(shrunk.effects, []);
  assert.equal(shrunk.state.dialog?.stage.kind, "asking");

  const grown = step(after(shrunk.state, [size(80, 24)]), key("y"));
  assert.deepEqual(
    grown.effects.map(({ kind }) => kind),
    ["task"],
  );
});
